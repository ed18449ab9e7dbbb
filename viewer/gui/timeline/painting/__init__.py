"""Paints one frame: rows, labels, flows, bookmarks, selection."""
