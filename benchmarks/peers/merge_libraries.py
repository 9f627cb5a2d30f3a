"""Merges by other libraries: read the files, sort, write one file per group.

Prints the seconds, the CPU seconds and the bytes written.

Runs in the environment that `make bench-peers` makes, a fresh process a round, so that no memory or
thread of one peer is left to the next; importing the library does not count.
"""

import importlib
import os
import sys
import time
from typing import Any

LIBRARIES = ("datafusion", "duckdb", "polars")
THREADS = 2
GROUP_ROWS = 131_072
# As ours.
ZSTD_LEVEL = 1
KEYS = ("signal", "service_name", "timestamp", "timestamp_nanos")


def main(peer: str, out: str, groups: list[list[str]]) -> None:
    """Sort each group of files into its own file, one after the other on all threads."""
    library: Any = importlib.import_module(peer)
    sort = {"datafusion": _datafusion, "duckdb": _duckdb, "polars": _polars}[peer]
    outputs = [f"{out}-{number}.parquet" for number in range(len(groups))]
    began, cpu_began = time.perf_counter(), time.process_time()
    for paths, output in zip(groups, outputs, strict=True):
        sort(library, paths, output)
    seconds, cpu_secs = time.perf_counter() - began, time.process_time() - cpu_began
    print(seconds, cpu_secs, sum(map(os.path.getsize, outputs)))


def _duckdb(library: Any, paths: list[str], out: str) -> None:
    connection = library.connect(config={"threads": THREADS})
    order = ", ".join(f"{key} NULLS LAST" for key in KEYS)
    connection.execute(
        f"COPY (SELECT * FROM read_parquet({paths}, union_by_name=true) ORDER BY {order}) "  # noqa: S608
        f"TO '{out}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL {ZSTD_LEVEL},"
        f" ROW_GROUP_SIZE {GROUP_ROWS})"
    )


def _polars(library: Any, paths: list[str], out: str) -> None:
    rows = library.read_parquet(paths).sort(list(KEYS), nulls_last=True)
    rows.write_parquet(
        out, compression="zstd", compression_level=ZSTD_LEVEL, row_group_size=GROUP_ROWS
    )


def _datafusion(library: Any, paths: list[str], out: str) -> None:
    options = {
        "datafusion.execution.target_partitions": str(THREADS),
        "datafusion.optimizer.prefer_existing_sort": "true",
    }
    context = library.SessionContext(library.SessionConfig(options))
    order = ", ".join(f"{key} ASC NULLS LAST" for key in KEYS)
    for number, path in enumerate(paths):
        # Told that each file is sorted, it merges instead of sorting.
        context.sql(
            f"CREATE EXTERNAL TABLE t{number} STORED AS parquet WITH ORDER ({order})"
            f" LOCATION '{path}'"
        )
    union = " UNION ALL ".join(f"SELECT * FROM t{number}" for number in range(len(paths)))  # noqa: S608
    context.sql(
        f"COPY ({union} ORDER BY {order}) TO '{out}' STORED AS parquet OPTIONS"
        f" ('format.compression' 'zstd({ZSTD_LEVEL})', 'format.max_row_group_size' '{GROUP_ROWS}')"
    ).collect()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], [group.split(",") for group in sys.argv[3:]])
