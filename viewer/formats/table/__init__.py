"""Plain profile CSV; `reader.py` defines the format."""
