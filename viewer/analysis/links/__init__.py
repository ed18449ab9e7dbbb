"""Links from slices to operators, the reason for each, and how well an ETRecord matches a trace."""
