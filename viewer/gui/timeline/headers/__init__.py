"""The column of process and track names."""
