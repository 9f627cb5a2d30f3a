"""Spark sorting segments in its JVM, and Iceberg's rewrite_data_files: one session, many rounds.

Runs with the Spark of the interpreter that it is started by. For each line of standard input it
sorts every group of files into one file, a thread a group, and prints the seconds and the bytes
written. The session, Iceberg's tables and a first round, which warms the JVM, come before and do
not count.
"""

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.functions import col

KEYS = ("signal", "service_name", "timestamp", "timestamp_nanos")
THREADS = 2
MEMORY = "6g"
# As ours.
ZSTD_LEVEL = "1"

# Returns the bytes written.
Sort = Callable[[SparkSession, Path, int, list[str]], int]


def main(peer: str, folder: Path, groups: list[list[str]], jar: str) -> None:
    """Prepare, say so, then one round per line."""
    spark = _session(folder, jar)
    spark.sparkContext.setLogLevel("ERROR")
    for number, paths in enumerate(groups):
        if peer == "iceberg":
            _make_table(spark, number, paths)
    sort = {"iceberg": _iceberg, "spark": _spark}[peer]
    _round(sort, spark, folder, groups)
    print("ready", flush=True)
    for _ in sys.stdin:
        print(*_round(sort, spark, folder, groups), flush=True)
    spark.stop()


def _round(
    sort: Sort, spark: SparkSession, folder: Path, groups: list[list[str]]
) -> tuple[float, int]:
    """Return the seconds and the bytes written."""
    began = time.perf_counter()
    with ThreadPoolExecutor(len(groups)) as pool:
        done = [
            pool.submit(sort, spark, folder / f"out-{number}", number, paths)
            for number, paths in enumerate(groups)
        ]
    written = sum(future.result() for future in done)
    return time.perf_counter() - began, written


def _session(folder: Path, jar: str) -> SparkSession:
    builder: Any = SparkSession.Builder().master(f"local[{THREADS}]")
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": MEMORY,
        "spark.local.dir": str(folder),
        "spark.scheduler.mode": "FAIR",
        # It is stopped while others take their turns, and must not be taken for dead after that.
        "spark.network.timeout": "1h",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.hadoop.parquet.compression.codec.zstd.level": ZSTD_LEVEL,
    }
    if jar:
        options |= {
            "spark.jars": jar,
            "spark.sql.catalog.bench": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.bench.type": "hadoop",
            "spark.sql.catalog.bench.warehouse": str(folder / "warehouse"),
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions"
            ".IcebergSparkSessionExtensions",
        }
    for name, value in options.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    return session


def _make_table(spark: SparkSession, number: int, paths: list[str]) -> None:
    """Write each segment as one data file, its rows in order as they are."""
    for path in paths:
        rows = spark.read.parquet(path).coalesce(1)
        if path == paths[0]:
            table = rows.writeTo(f"bench.db.t{number}").tableProperty("format-version", "2")
            table = table.tableProperty("write.parquet.compression-codec", "zstd")
            table.tableProperty("write.parquet.compression-level", ZSTD_LEVEL).create()
        else:
            rows.writeTo(f"bench.db.t{number}").append()


def _iceberg(spark: SparkSession, _out: Path, number: int, _paths: list[str]) -> int:
    order = ", ".join(f"{key} ASC NULLS LAST" for key in KEYS)
    spark.sql(
        f"CALL bench.system.rewrite_data_files(table => 'db.t{number}', strategy => 'sort',"
        f" sort_order => '{order}', options => map('rewrite-all', 'true',"
        f" 'target-file-size-bytes', '{1 << 30}', 'max-file-group-size-bytes', '{1 << 40}'))"
    ).collect()
    written = spark.sql(
        f"SELECT sum(file_size_in_bytes) FROM bench.db.t{number}.files"  # noqa: S608
    ).collect()
    # The next round shall find the files that this one found, not its one sorted file.
    snapshots = spark.sql(
        f"SELECT snapshot_id FROM bench.db.t{number}.snapshots WHERE operation = 'append'"  # noqa: S608
        " ORDER BY committed_at DESC LIMIT 1"
    ).collect()
    spark.sql(f"CALL bench.system.rollback_to_snapshot('db.t{number}', {snapshots[0][0]})")
    return int(written[0][0])


def _spark(spark: SparkSession, out: Path, _number: int, paths: list[str]) -> int:
    rows = spark.read.parquet(*paths).coalesce(1)
    rows.sortWithinPartitions(*[col(key).asc_nulls_last() for key in KEYS]).write.parquet(
        str(out), mode="overwrite"
    )
    return sum(path.stat().st_size for path in out.glob("*.parquet"))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), [g.split(",") for g in sys.argv[4:]], sys.argv[3])
