"""Torq profiles in CSV: compile, runtime, host and annotated."""
