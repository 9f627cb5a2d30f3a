"""Compaction scheduler: which segments are merged, as pure functions of segments and a time.

It is size-tiered compaction of a log-structured merge tree, in groups of one dataset and one UTC
day, with a bound on write amplification.

    size   target ------------------------------------  a segment of this size is final
      |      [==========]
      |      [====] [====]           a merge writes at least growth_min times its largest input,
      |      [=] [=] [=] [=]         so a byte is written at most 1 + log(target / first) times
      |      . . . . . . . .         more than files_max segments in a group: merge
      +-------------------------->   a group without additions for quiet_nanos: closing merge
             one group

Of the permitted merges the one whose output grows most over its largest input comes first, because
it takes the fewest writes to the target. Tasks that were planned are rows; workers lease them
(`meta.store.merging`).
"""
