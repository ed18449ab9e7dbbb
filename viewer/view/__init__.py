"""The view as immutable values, and its file format (`.opscope`). No Qt."""
