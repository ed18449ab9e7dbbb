"""From traces to pixels as numpy arrays. No Qt."""
