"""The page while nothing is open."""
