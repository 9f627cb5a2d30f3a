r"""Group commit: calls that wait at the same time share one transaction and one flush of the log.

The idea is that of DeWitt et al., "Implementation Techniques for Main Memory Database Systems",
1984. A durable commit costs milliseconds however much it holds.

    calls     a  b  c  d  e  f            arrive on the event loop
               \  | /    \ | /             no key in common between two batches that run
              batch 1   batch 2           each in a transaction on its own connection
                 |         |
              COMMIT    COMMIT            one flush for all calls of a batch
               / | \     / | \
    answers   a  b  c   d  e  f

- A batch is optimistic: a call whose row is locked elsewhere runs in its own transaction.
- If a call makes its batch fail, the halves run again, so a refused call costs its neighbours the
  logarithm of the batch.
- `transactions` opens, commits and repeats all other transactions, and nothing else does.
- `change_feed` is a publisher of committed versions: one poller a process and a bounded queue for
  each watcher, which resumes with the last version that it received.
"""
