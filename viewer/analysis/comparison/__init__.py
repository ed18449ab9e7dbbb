"""Two arms of sessions compared: what changed, by how much, and how sure that is."""
