"""Query engines read times as times, exactly by the pair, and one signal of a file alone."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pytest

from segments.parquet.schema import TIMESTAMP
from segments.signals import Signal
from tests.support.parquet.rows import rows_of, write_segment

HOUR_NANOS = 3_600 * 10**9
# Two hours ago, half an hour ago, and just before and after 1970.
AGES = (2 * HOUR_NANOS + 1, HOUR_NANOS // 2 + 999)
EARLY = (-1, -1_001, 1, 1_001)
# Rows of each signal in a file of all three.
MIXED: dict[Signal, int] = {"logs": 500, "metrics": 300, "traces": 200}
# Spark 3.5, which `make engines` installs.
OLD_SPARK = Path("build/engines/bin/python")

# Reads with the settings that a new session has; prints what it found as JSON.
_SPARK = """
import json, sys
from pyspark.sql import SparkSession, functions as F
spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
         .getOrCreate())
rows = spark.read.parquet(sys.argv[1])
nanos = F.unix_micros("timestamp") * 1000 + F.col("timestamp_nanos")
found = {
    "type": rows.schema["timestamp"].dataType.simpleString(),
    "nanos": sorted(row[0] for row in rows.select(nanos).collect()),
    "late": rows.where("timestamp > current_timestamp() - interval 1 hour").count(),
}
spark.read.parquet(sys.argv[2]).createOrReplaceTempView("mixed")
spark.sql("CREATE TEMPORARY VIEW logs AS SELECT body, event_name FROM mixed WHERE signal = 'logs'")
logs = spark.sql("SELECT * FROM logs")
found["logs"] = len(logs.collect())
scan = logs._jdf.queryExecution().executedPlan().collectLeaves().head()
found["scanned"] = scan.metrics().get("numOutputRows").get().value()
print("FOUND" + json.dumps(found))
"""


@pytest.fixture
def now_nanos() -> int:
    return time.time_ns()


@pytest.fixture
def nanos(now_nanos: int) -> list[int]:
    return sorted([*EARLY, *(now_nanos - age for age in AGES)])


@pytest.fixture
def path(tmp_path: Path, nanos: list[int]) -> Path:
    table = rows_of("logs", len(nanos))
    times = pa.array(nanos, pa.int64()).cast(TIMESTAMP)
    table = table.set_column(1, table.schema.field("timestamp"), times)
    write_segment(tmp_path / "x.parquet", {"logs": table})
    return tmp_path / "x.parquet"


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.parquet"
    write_segment(path, {signal: rows_of(signal, rows) for signal, rows in MIXED.items()})
    return path


def test_duckdb_reads_exact_times_by_the_pair(path: Path, nanos: list[int]) -> None:
    rows = _duckdb("SELECT epoch_us(timestamp) * 1000 + timestamp_nanos", path)

    assert sorted(int(str(row[0])) for row in rows) == nanos


def test_duckdb_compares_times_with_now(path: Path) -> None:
    late = _duckdb("SELECT count(*)", path, "WHERE timestamp > now() - INTERVAL 1 hour")
    early = _duckdb("SELECT count(*)", path, "WHERE timestamp + INTERVAL 1 year < now()")

    assert (late, early) == ([(1,)], [(len(EARLY),)])


def test_duckdb_truncates_times(path: Path) -> None:
    days = _duckdb(
        "SELECT CAST(date_trunc('day', timestamp AT TIME ZONE 'UTC') AS DATE)::VARCHAR AS day",
        path,
        "WHERE timestamp < TIMESTAMPTZ '2000-01-01 00:00:00+00' ORDER BY day",
    )
    buckets = _duckdb(
        "SELECT count(DISTINCT time_bucket(INTERVAL 1 hour, timestamp))",
        path,
        "WHERE timestamp > now() - INTERVAL 1 day",
    )

    assert days == [("1969-12-31",)] * 2 + [("1970-01-01",)] * 2
    assert buckets == [(2,)]


def test_arrow_reads_exact_times_by_the_pair(path: Path, nanos: list[int]) -> None:
    table = pyarrow.dataset.dataset(path).to_table(columns=["timestamp", "timestamp_nanos"])

    micros = table["timestamp"].cast(pa.int64())
    found = pc.add(pc.multiply(micros, pa.scalar(1_000)), table["timestamp_nanos"].cast(pa.int64()))

    assert sorted(int(str(value)) for value in found.to_pylist()) == nanos


def test_polars_reads_exact_times_by_the_pair(path: Path, nanos: list[int]) -> None:
    time = pl.col("timestamp").to_physical() * 1_000 + pl.col("timestamp_nanos")

    rows = pl.scan_parquet(path).select(time.alias("nanos")).collect()

    assert sorted(rows["nanos"].to_list()) == nanos


def test_pandas_reads_exact_times_by_the_pair(path: Path, nanos: list[int]) -> None:
    rows = pd.read_parquet(path)

    micros = rows["timestamp"].astype("datetime64[us, UTC]").astype("int64")

    assert sorted((micros * 1_000 + rows["timestamp_nanos"]).tolist()) == nanos


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("interpreter", [Path(sys.executable), OLD_SPARK], ids=["4.3", "3.5"])
def test_spark_reads_segments_without_any_setting(
    path: Path, mixed: Path, nanos: list[int], interpreter: Path
) -> None:
    if not interpreter.exists():
        pytest.skip("Spark 3.5 is not installed: make engines")

    found = _spark(interpreter, path, mixed)

    assert found["type"] == "timestamp"
    assert found["nanos"] == nanos
    assert found["late"] == 1
    # The row groups of the other signals are not read.
    assert found["logs"] == found["scanned"] == MIXED["logs"]


def test_duckdb_reads_one_signal_through_a_view(mixed: Path, tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    with duckdb.connect() as database:
        database.execute(
            "CREATE VIEW logs AS SELECT timestamp, body"  # noqa: S608
            f" FROM read_parquet('{mixed}', union_by_name=true) WHERE signal = 'logs'"
        )
        database.execute("PRAGMA enable_profiling = 'json'")
        database.execute(f"PRAGMA profiling_output = '{profile}'")
        ((rows, _),) = database.execute("SELECT count(*), count(body) FROM logs").fetchall()
        database.execute("PRAGMA disable_profiling")

    (scan,) = _operators(json.loads(profile.read_text())["operator"], "TABLE_SCAN")
    assert rows == scan["rows_scanned"] == MIXED["logs"]
    assert (scan["row_groups_scanned"], scan["total_row_groups_to_scan"]) == (1, len(MIXED))


@pytest.mark.parametrize("signal", MIXED)
def test_arrow_reads_the_row_groups_of_one_signal(mixed: Path, signal: Signal) -> None:
    is_wanted = pyarrow.dataset.field("signal") == signal
    dataset = pyarrow.dataset.dataset(mixed)
    (fragment,) = dataset.get_fragments()

    (row_group,) = fragment.split_by_row_group(is_wanted)

    assert row_group.num_row_groups == 1
    assert row_group.row_groups[0].num_rows == dataset.count_rows(filter=is_wanted) == MIXED[signal]


@pytest.mark.parametrize("signal", MIXED)
def test_polars_reads_one_signal(mixed: Path, signal: Signal) -> None:
    rows = pl.scan_parquet(mixed).filter(pl.col("signal") == signal).collect()

    assert len(rows) == MIXED[signal]


def _spark(interpreter: Path, *paths: Path) -> dict[str, object]:
    # Workers of another Spark must not find ours.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK", "PYSPARK"))}
    # The JVM ends before its optimizing compiler pays.
    environment["SPARK_SUBMIT_OPTS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    process = subprocess.run(
        [interpreter, "-c", _SPARK, *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env=environment,
    )
    lines = [line for line in process.stdout.splitlines() if line.startswith("FOUND")]
    assert lines, process.stderr[-3_000:]
    found: dict[str, object] = json.loads(lines[0].removeprefix("FOUND"))
    return found


def _operators(nodes: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    inner = [found for node in nodes for found in _operators(node.get("children", []), kind)]
    return [*(node for node in nodes if node["type"] == kind), *inner]


def _duckdb(select: str, path: Path, where: str = "") -> list[tuple[object, ...]]:
    with duckdb.connect() as database:
        query = f"{select} FROM read_parquet('{path}') {where}"
        return [tuple(row) for row in database.execute(query).fetchall()]


def test_duckdb_finds_nan_in_a_file_that_it_reads_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    table = rows_of("metrics", 3)
    place = table.schema.get_field_index("value_double")
    values = pa.array([1.0, float("nan"), 2.0])
    write_segment(path, {"metrics": table.set_column(place, table.schema.field(place), values)})

    for condition in ("isnan(value_double)", "value_double = 'nan'", "value_double > 100"):
        counted = duckdb.execute(f"SELECT count(*) FROM '{path}' WHERE {condition}")  # noqa: S608
        assert counted.fetchall() == [(1,)], condition
    greatest = duckdb.execute(f"SELECT max(value_double)::VARCHAR FROM '{path}'")  # noqa: S608
    assert greatest.fetchall() == [("nan",)]
