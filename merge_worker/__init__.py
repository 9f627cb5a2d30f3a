"""The merge worker: compacts merged segments. A competing consumer of leased tasks.

    poll meta --> task, attempt n --> job: k-way merge --> objects below the attempt's prefix
                      |                    |                      |
                      +-- heartbeats ------+                      v
                          every third of the lease;        complete(outputs), or fail(cause)
                          lost: stop                       a lost lease is refused: TASK_FENCED

meta plans (`meta.planning`), leases and fences (`meta.store.merging`); the merge itself is
`segments.merging`. A worker keeps nothing: if it dies, its lease ends and another one starts again.

- A task runs in its own process, so that a bad input ends no other task (`job`).
- Unfinished output is in a folder that its owner locks; a folder without a lock is removed
  (`scratch`).
- Failures name the input that is to blame, if one is. meta splits such a task and in the end
  excludes the segment.
"""
