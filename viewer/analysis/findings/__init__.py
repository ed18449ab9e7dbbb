"""What a profile proves; one module per family of findings."""
