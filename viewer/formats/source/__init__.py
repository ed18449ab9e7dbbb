"""Source formats: MLIR and Python."""
