"""Strips, one for each clock, and how they share the height of the timeline."""
