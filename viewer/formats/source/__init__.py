"""Source texts: MLIR and Python."""
