"""Toolbar, search field, link state."""
