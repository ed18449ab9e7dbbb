"""The Search results panel."""
