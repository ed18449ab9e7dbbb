"""CSV, TSV, Parquet: one module per kind of row."""
