"""Chrome trace JSON; `reader.py` defines the format."""
