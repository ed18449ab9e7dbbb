"""Many protobuf messages at once as numpy columns: a reader and a writer."""
