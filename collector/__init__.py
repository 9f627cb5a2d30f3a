"""The collector: accepts OTLP and writes baby segments. A write-ahead log on object storage.

An export is acknowledged after its bytes are in the bucket and their offset is committed at meta,
so a collector needs no disk, and its crash loses nothing that was acknowledged.

    sender --> servers --> intake ----> buffer --> flusher --> stream ---> put baby n (if absent)
               gRPC,       admission,   fair       batch by    offset n         |
               HTTP        validation,  queue of   size and                CommitOffset n
                           limits       tokens     age                          |
    sender <----------------------- acknowledged -------------------------------+

- Group commit of exports: a flush takes what waits, so one put and one commit serve many.
- Conditional put: two processes that continue one stream cannot overwrite each other. After a crash
  the next one adopts the babies that were put and not committed, in order of offsets.
- Fair queue by deficit round robin (Shreedhar and Varghese, 1995): a token with a long backlog does
  not delay the others.
- Deduplication of retries: an export that comes again is recognised by its digest.
- The bytes that came are the bytes that are stored. Decoding is the nursery's; damaged exports are
  split in processes of their own (`intake.conversion`).
"""
