"""Deletion in two phases: a tombstone hides, a grace later the object is deleted.

    live --merge, retention, deletion of the dataset--> tombstone
                                                          |  grace of readers; pins
                                                          |  brake: much without a successor
                                                          |  hold: after a restore
                                                          v
                                     due --> object deleted by a janitor --> confirmed: row deleted

    object without a row --> rows prove it garbage --> key condemned --> object deleted

- The grace is the epoch of readers (epoch-based reclamation): whoever reads at an older version
  still finds its objects until it has passed.
- The deletion brake is a circuit breaker: many segments that go without a successor, and not by the
  retention that is the baseline, wait for an operator's release.
- An orphan is condemned through the unique index of object keys. A key is registered or condemned,
  never both, so a writer that was stalled cannot register an object that is being deleted.
- Expired rows of other tables go by `lifetimes`, one rule a table, in short transactions.
"""
