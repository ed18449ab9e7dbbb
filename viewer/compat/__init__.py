"""Drop-in fronts for scripts that people already have: the same arguments, the same output."""
