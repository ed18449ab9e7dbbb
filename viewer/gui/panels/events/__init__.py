"""The Events panel."""
