"""Groups of slices by a key: counts, totals, percentiles."""
