"""Plain profile CSV."""
