"""The Calls panel."""
