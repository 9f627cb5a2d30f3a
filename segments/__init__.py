"""Files and objects: keys, object stores, OTLP, Parquet and merging; no gRPC, no SQL."""
