"""A comparison of two arms in the window: what is compared, its results and its view. No Qt."""
