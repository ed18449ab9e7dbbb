"""What was delegated, what was not, and what delegates logged."""
