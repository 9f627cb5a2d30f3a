"""Snapshot reads: FindSegments with keyset paging, the change feed, lineage, unmerged babies.

A version is a snapshot, as in multi-version concurrency control: a segment is visible at v if it
was created at or before v and not tombstoned at or before v.

    index of segments: dataset, duration class, start, id      (class c: shorter than 4^c seconds)

    class 0     |        .  .[. . .  range  . . .].   .         read from start - 1 s
    class 5     |   . .[.  . .       range        ].    .       read from start - 1,024 s
    class 8     |[ .      .          range        ]  .          read from start - 65,536 s

A query of an interval is so a scan of one range of the index for each class. The classes that a
dataset has are remembered (`held_classes`).

- Keyset paging: a cursor is the version and the last segment's place in the index. A page costs
  the same at any depth, and all pages of a cursor show one version.
- `page_statement` reads version, datasets and segments of a page by one statement, hence in one
  snapshot and one round trip; `meta.services.lookup.segment_bytes` encodes the columns it returns.
"""
