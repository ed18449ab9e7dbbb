"""The query language, and the search in a trace."""
