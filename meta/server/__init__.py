"""Composition root of a server: start of the database, services, jobs, supervision of processes.

    database_start: reachable, migrated, fit --> server: rpc + services + watches --> drain

`supervisor` (META_PROCESSES > 1) starts workers on one port, and starts those again that end.
"""
