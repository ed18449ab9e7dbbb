"""Converts bytes to numpy columns and back, and writes files atomically. Knows no formats."""
