"""The output of commands about program files: their sizes, and what differs between two."""
