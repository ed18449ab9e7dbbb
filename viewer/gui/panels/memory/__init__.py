"""The Memory panel."""
