"""Perfetto traces; `reader.py` defines the format."""
