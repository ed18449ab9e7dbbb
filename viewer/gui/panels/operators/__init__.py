"""The Operators panel."""
