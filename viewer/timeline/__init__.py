"""The drawing: layout, lod, raster, colouring and ticks are pure numpy; the other modules Qt."""
