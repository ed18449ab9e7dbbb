"""Bytes to columns and back, and files written whole. Knows no trace and no format."""
