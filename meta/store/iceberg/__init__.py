"""Metadata of datasets as Iceberg tables: objects, snapshots, expiry."""
