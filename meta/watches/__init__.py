"""Background loops of a server: housekeeping, health checks, a fence against restored copies.

    background: a thread for each job, whose failures are logged and counted
      |
      +-- rounds, expiry     servers on one database take turns
      +-- clock_watch        steps of the database's clock
      +-- release_watch      a heartbeat of this server; ends it below the least release
      +-- witness_watch      writes ticks to the bucket, and compares the database with them
      +-- health             grpc.health.v1, from a probe on its own connection

The witness (ADR 18) is a fence outside the database: a copy that was restored to an older state is
behind its mark in the bucket, jumps over all versions handed out, and holds deletion.
"""
