"""The gateway: an HTTP server through which query engines read datasets.

    Iceberg clients --> iceberg/   REST catalog: a table a dataset, a snapshot a version; metadata
                                   is published to the bucket, reads are signed
    KQL over HTTP ----> queries/   each query in a process: forked, sandboxed, killed at its limit
                        http/      connections, callers, refusals, metrics of both

    gateway --fork request--> launcher (libraries and database ready) --fork--> process of a query
       ^                                                                            |
       +------------- tables, opened datasets, bytes of files: asked for <----------+

- Facade: the catalog translates versions and segments of meta to Iceberg's format and stores
  nothing that it could not publish again.
- Pre-forked workers (a zygote): a process inherits what takes longer than most queries do, and
  serves one query of one caller.
- Least privilege: the process of a query has no credentials and, where the kernel can filter calls,
  no way to make a connection. Its requests are checked as if it were hostile.
"""
