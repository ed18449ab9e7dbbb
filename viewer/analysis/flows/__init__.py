"""From which operators and slices results go to which."""
