"""Backups: objects that a copy of the database names are kept until the backup ends.

    snapshot of the copy --> its version V --> CreateBackup(V) --> ... --> end or release

- A segment is kept if created <= V < tombstone, as by a pin of every dataset.
- A baby segment is kept if it was not merged at V. Its stream is reaped past it as usual; the
  nursery leaves the object, and the orphan sweep deletes it after the end.
- A backup keeps its objects as long as its row exists, whatever the clocks say.
- Raising a deletion horizon and creating a backup exclude one another by an advisory lock: either
  the horizon is above V, and the backup is refused, or the backup is seen.
"""
