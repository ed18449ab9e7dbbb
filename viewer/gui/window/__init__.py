"""The main window: it is there at once, and joins its parts once they are imported."""
