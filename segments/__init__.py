"""Files and objects of Segplane: a write-ahead log and sorted runs on object storage.

    baby segment    one object a flush: OTLP payloads of many senders, with checksums
         |  otlp (decoded by columns), parquet (written)
         v
    merged segment  one sorted Parquet file of one dataset and day, with its lineage
         |  merging (external merge sort), token_index
         v
    merged segment  a larger one

- Objects are immutable and written once, under keys that name what they hold (`keys`).
- Footers and stamps repeat what the catalog knows, so that `rebuild` can derive it from the bucket.
- No gRPC and no SQL: the packages above import this one.
"""
