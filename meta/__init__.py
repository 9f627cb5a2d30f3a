"""Segplane's control plane: a metadata service over one relational database. Imports nothing.

It is the catalog of a log-structured lakehouse: objects are immutable, and a transaction in
Postgres decides which of them a reader sees.

    call --> rpc --> services --> commits --> store --> Postgres
             who may  messages    transactions, all SQL
             call     to values   group commit
                                      ^
    watches (clock, witness, expiry) --+        client: what the other processes import

- `access`, `errors` and `v1` are the contract: roles, reasons and messages.
- `planning` is the compaction scheduler, as pure functions.
"""
