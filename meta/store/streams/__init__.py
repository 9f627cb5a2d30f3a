"""Ingest streams: partitioned logs with an offset for each consumer, and leases on shards of them.

A stream is the log of one collector; a dataset that it holds records of is a consumer with its own
offset, as a consumer group has in Kafka.

    offset            0  1  2  3  4  5  6  7  8
    stream            x  x  b  b  b  b  b  b  b     b = baby, x = reaped
    dataset A                  ^ merged_offset 3          committed_offset 8
    dataset B                        ^ merged_offset 5
                         ^ deleted_offset 1

- `commits`: CommitOffset acknowledges the next offset of a stream; its checks have one order.
- A dataset that receives nothing costs no row and no statement: its merged offset is implied by
  what is committed (docs/adr/0020-implied-offsets.md).
- A baby is reaped once all datasets that it may be of have passed it, and their grace is over.
- `nursery_shards` divides streams among nurseries by leases. They are not fences: a nursery that
  outlives its lease loses the compare-and-set of a registration, and nothing else.
"""
