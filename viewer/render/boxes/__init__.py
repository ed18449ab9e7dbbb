"""Pictures of boxes, with the number of a box in every pixel."""
