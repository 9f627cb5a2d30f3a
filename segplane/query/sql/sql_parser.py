"""DuckDB's own parser."""

from functools import cache

import duckdb


@cache
def parser() -> duckdb.DuckDBPyConnection:
    """Return an empty database for DuckDB's parser and its constants; to open it takes 20 ms.

    It has no threads, so that a process that has it may be forked.
    """
    return duckdb.connect(config={"threads": 1, "async_threads": 0})
