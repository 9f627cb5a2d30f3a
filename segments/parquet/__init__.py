"""The Parquet format of merged segments: schema, writers, reader, footer."""
