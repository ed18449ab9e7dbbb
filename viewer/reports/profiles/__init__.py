"""Reports about profiles: their main figures, single slices, and the lines of their sources."""
