"""One frame: rows, labels, flows, marks, selection."""
