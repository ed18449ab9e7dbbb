"""The Model panel."""
