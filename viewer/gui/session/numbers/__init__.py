"""The values that an open profile logged, next to a reference. No Qt."""
