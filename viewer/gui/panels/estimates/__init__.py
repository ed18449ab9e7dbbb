"""The Estimates panel."""
