"""The Statistics panel."""
