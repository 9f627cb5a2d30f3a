"""Queries over HTTP in a pool of prepared processes. Sandbox with a broker (privilege separation).

    request --> accounts: concurrency, budget --> process: DuckDB without credentials
                    |                                |  asks for files and tables
                    |                                v
    answer <-- run: limits, pieces of the result <-- broker: serves it, by the caller's rights

- A process runs one query and ends. The gateway can kill it at any moment.
- `kusto` answers clients of Kusto's REST API with the same runs.
"""
