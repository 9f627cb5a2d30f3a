"""Pins: leases on a snapshot, which keep its segments from deletion while a reader holds them.

    created   tombstone           versions ->
       |----------|               held by a pin at p  if  created <= p < tombstone
       |    p     |
       |----------|-------- h     h = deletion horizon: below it, only pinned versions are readable

A reader takes a pin, renews it while it reads, and releases it; a pin that is not renewed expires,
as every lease does. It is the low-water mark of active snapshots in multi-version databases.

- Taking a pin and raising the horizon lock the dataset's row, so a pin that is a row holds all of
  its segments, whatever the clocks say.
- A pin of changes holds everything that was tombstoned after it, so that a stream can read what
  changed since.
- Limits bound the pins of an owner, of all, and the bytes of tombstoned segments that they hold.
"""
