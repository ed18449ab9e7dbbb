"""Frames of a timeline as pixels: rows with their colors, counters and marks."""
