"""Parquet files that others wrote, as segments are read."""
