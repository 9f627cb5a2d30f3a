"""Access to Postgres below all statements: a connection pool with fences around transactions.

    transaction --> pool --> call_scope: cancelled with its call --> Postgres
                     |                                                 |
                     +-- continuity: is this the database of before?   +-- driver_errors: typed
                     +-- timelines: versions that a failover may have lost
                     +-- scope: datasets that the caller may see

- `driver_statements` and `pg_arrays` are for the hottest statements, in plain driver text.
- Lists are pages by keyset (`keyset`), never by an offset.
"""
