"""Registration of merged segments: compare-and-set of consumer offsets, with exactly-once effect.

A nursery reads babies, writes objects and registers them. The registration makes the segments
visible and moves the offsets in one transaction, so a record is in exactly one visible segment,
however often a nursery dies or two of them read the same babies.

    nursery                    meta, many calls in one transaction
    babies 4..9 read
    objects written
    register(seen=3,  ------>  1. lock the entries, read what calls are checked against
             end=9)            2. claim the object keys; a repeated call gets its version again
                               3. offset still 3? else OFFSET_CONFLICT: another nursery won,
                                  and the objects are orphans
                               4. further checks: bound columns, deduplication, conservation
                               5. rows and offsets at one version, which is drawn last

- Deduplication keys are 16-byte keyed hashes in sorted runs, merged by size as in a log-structured
  merge tree; a Bloom filter for each large run tells which ones need not be read.
- Conservation: a registration has at most the events of its babies, plus what an operator allowed.
- A refused call leaves nothing: the keys that it claimed are released.
"""
