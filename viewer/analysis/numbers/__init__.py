"""Numbers: the values that profiles logged, and how far those of two runs differ."""
