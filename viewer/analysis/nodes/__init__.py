"""The graph nodes that instructions and events ran."""
