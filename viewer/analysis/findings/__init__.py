"""Performance findings of a profile; one module per family."""
