"""Commands of a window: actions, keys and fuzzy search."""
