"""Merge tasks: a queue of leases with fencing tokens.

A lease (Gray and Cheriton, 1989) ends by itself if its holder dies. A holder that was only stalled
may come back, so each claim has a number, the fencing token, and meta refuses the older one:
https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html

    planned --> open --poll--> claimed, attempt n --complete--> outputs replace inputs at a version
                 ^                |  |
                 |     heartbeat  |  | lease ended, or unclaimed
                 |     renews <---+  v
                 |                claimed, attempt n + 1        n is fenced: TASK_FENCED
                 +--- back-off <-- failed
                                     5 times by its inputs: split, then one segment is excluded

- Workers poll as competing consumers: `FOR UPDATE SKIP LOCKED` gives each poll another task, and
  waiting polls are answered in one statement.
- The token is in the keys of a task's output, so two attempts never write the same object.
- A completion compares the events of outputs and inputs before it tombstones the inputs.
"""
