"""The janitor: plans merges, deletes tombstoned segments and collects orphans. Periodic jobs.

    loop: each job has an interval and a thread; all are idempotent and may be interrupted anywhere

    garbage collection    meta: due tombstones --> delete objects --> confirm
    mark and sweep        list the bucket --> keys that meta does not know --> meta condemns those
                          that rows prove garbage --> delete these alone
    scrubbing             read every object again at a set rate, compare checksums --> report
    compaction            ask meta to plan merges

- The bucket is listed first and meta is asked afterwards. An object of the last day is skipped,
  because its writer may be about to register it.
- A condemned key can never be registered, so a stalled writer is refused and loses only its own
  orphan. The absence of a row alone proves nothing: after a restore the database is the older one.
- Several janitors may run. The scrub has a lease and its position at meta; for the others a second
  run finds less to do.
"""
