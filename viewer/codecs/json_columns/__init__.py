"""Reads many JSON objects that resemble one another as numpy columns."""
