"""The Details panel."""
