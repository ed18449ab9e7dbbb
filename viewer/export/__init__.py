"""Writes traces to files: Perfetto traces and tables. May import model and program; no Qt."""
