"""ETRecord; `reader.py` is the format."""
