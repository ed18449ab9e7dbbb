"""The Program panel."""
