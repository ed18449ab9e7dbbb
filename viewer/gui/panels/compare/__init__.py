"""The Compare panel."""
