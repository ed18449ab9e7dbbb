"""Call trees: slices with the same path of names, merged."""
