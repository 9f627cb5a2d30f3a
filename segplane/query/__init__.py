"""Queries over datasets and views, run by DuckDB on the caller's machine."""
