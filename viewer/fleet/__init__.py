"""Many profiles as one set of tables: a lake of Parquet files."""
