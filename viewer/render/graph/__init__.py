"""Layered graph drawing as numpy arrays. No Qt."""
