"""Reads and writes many protobuf messages at once as numpy columns."""
