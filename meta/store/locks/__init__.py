"""Locks of resources: advisory locks with an owner's token; on a dataset a legal hold.

    lock --> row, and a note in the bucket --> every change of the resource is refused (LOCKED)
      |                                        loops that delete skip the dataset
      +--> ends by its token, by an admin, or at its time

- `resource_locks` takes the row of the resource before the lock, in one order for all kinds.
- `held_datasets` is the view of the loops that delete; `locked_through` that of calls which
  concern a resource without naming it.
- A restored database has its locks again from their notes (`lock_notes`).
"""
