"""Queries with DuckDB: what they may do, and how long and in how much memory they may run."""
