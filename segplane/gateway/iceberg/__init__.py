"""A read-only Iceberg REST catalog: a table a dataset, a snapshot a version."""
