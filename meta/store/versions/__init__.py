"""Commit-ordered version counter: a number for each transaction that changes what readers see.

A sequence would not do, because transactions commit in another order than they draw. The counter is
a row that stays locked from the draw to the commit, so versions become visible in their order.

    writer 1   ... draw 7 | COMMIT
    writer 2   ...        wait | draw 8 | COMMIT
    reader                       7: everything up to 7 is visible, nothing is added below it later

- The row is the last lock of every transaction, and held for one round trip; group commit shares
  it among many calls.
- A failover or restore may lose versions that were handed out. The counter then jumps ahead, so
  that no number means two things, and the versions of the gap are refused.
- `witness` compares the database with immutable objects in the bucket: a high-water mark and a
  fencing number of each term there tell a copy or an older state of the database.
- `clock` is the database's time; its ages count neither clock steps nor downtime.
"""
