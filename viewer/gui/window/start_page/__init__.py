"""The start page, shown while nothing is open."""
