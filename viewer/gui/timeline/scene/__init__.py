"""What all parts of the timeline draw from: layout, scroll, rasters by trace."""
