"""Torq profiles as CSV: compile, runtime, host, annotated."""
