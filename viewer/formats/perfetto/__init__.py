"""Perfetto traces; `reader.py` is the format."""
