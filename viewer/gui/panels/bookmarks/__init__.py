"""The Marks panel."""
