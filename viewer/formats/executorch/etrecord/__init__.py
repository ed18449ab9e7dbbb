"""ETRecord; `reader.py` defines the format."""
