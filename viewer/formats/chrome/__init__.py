"""Chrome trace JSON; `reader.py` is the format."""
