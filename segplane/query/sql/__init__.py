"""Queries in SQL: checked, planned, and run by DuckDB."""
