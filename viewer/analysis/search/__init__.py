"""The query language and what it finds."""
