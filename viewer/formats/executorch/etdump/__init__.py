"""ETDump; `reader.py` is the format, the rest its steps."""
