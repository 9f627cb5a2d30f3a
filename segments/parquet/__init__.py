"""Merged segments as Parquet files: schema, layout, writers and readers."""
