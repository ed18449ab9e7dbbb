"""Drop-in replacements for existing tools: the same arguments, the same output."""
