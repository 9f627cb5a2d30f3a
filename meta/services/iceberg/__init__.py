"""Calls about datasets as Iceberg tables."""
