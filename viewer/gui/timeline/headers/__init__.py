"""The column of track names."""
