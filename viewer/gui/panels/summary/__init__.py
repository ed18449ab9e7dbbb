"""The Summary panel."""
