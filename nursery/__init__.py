"""The nursery: turns baby segments into merged segments. A read-process-write loop, exactly once.

    meta: streams, offsets --poll--> snapshot --plan--> tasks         pure: planning/
                                                          |
    bucket: babies ------------------read, decode, sort-->|           processes or Spark: execution/
                                                          v
    bucket: merged segments <--------write------------- files         new keys, never overwritten
                                                          |
    meta: register(seen, end) <------compare-and-set------+           registration/
                                                          |
    bucket: babies that all datasets merged <---reap------+           lifecycle/

Output is made before it is registered, and the registration is a compare-and-set of offsets. Two
nurseries that read the same babies write two sets of objects; one of them is registered, and the
other one is garbage. So the leases on shards of streams (`lifecycle.shards`) save work and decide
nothing.

- A baby is read at most twice as a rule, however many datasets share its stream
  (`planning.selection`).
- Payloads that cannot be merged go to the quarantine before their offset is passed.
- All durable state is meta's and the bucket's; a nursery can be killed at any time.
"""
