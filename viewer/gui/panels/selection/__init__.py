"""The Selection panel."""
