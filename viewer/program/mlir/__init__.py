"""MLIR text: locations, aliases, operations, without knowing a dialect."""
