"""What is seen, as immutable values, and its file form (`.opscope`). No Qt."""
