"""The Query panel."""
