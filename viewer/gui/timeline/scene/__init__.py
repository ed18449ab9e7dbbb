"""What all parts of the timeline share: layout, scroll position, rasters per trace."""
