"""The main window, which appears immediately and adds its parts once they are imported."""
