"""Queries over datasets and views: a planner with predicate pushdown, over embedded DuckDB.

    KQL or SQL --> plan: reads, time bounds, needed terms, SQL     nothing is opened yet
                     |
                     v
               sources: files of each dataset at one version --> DuckDB views
                     |   skipped by time, zone maps and token indexes
                     v
               engine: one DuckDB, limits, interruption --> results, in every format

- `sql` checks SQL of users against a list of functions; KQL is compiled by `kql`.
- `explain` shows the plan, with a reason for each file that was not skipped.
"""
