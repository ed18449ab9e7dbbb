"""Data flow between operators, and between slices."""
