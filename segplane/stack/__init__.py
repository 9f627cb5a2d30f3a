"""The stack on one machine: a supervisor of child processes, with an embedded Postgres.

    segplane dev --> preflight --> run_lock --> Postgres --> meta --> collector, pipeline, janitor
                     all that may   one run a    in a folder           gateway
                     fail, before   folder

They stop in the opposite order: the collector before the others, Postgres last.
`pipeline` runs nursery and merge worker in one process, on one Spark session.
"""
