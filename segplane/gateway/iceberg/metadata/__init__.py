"""Metadata of tables: manifests and documents of Iceberg's format, and their publication."""
