"""Parses MLIR text (locations, aliases, operations) without knowing any dialect."""
