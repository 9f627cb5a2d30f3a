"""Query engines read the times of a segment as times, and exactly by the pair of columns."""

import json
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pytest

from segments.parquet.schema import TIMESTAMP
from tests.support.parquet.rows import rows_of, write_segment

HOUR_NANOS = 3_600 * 10**9
# Two hours ago, half an hour ago, and just before and after 1970.
AGES = (2 * HOUR_NANOS + 1, HOUR_NANOS // 2 + 999)
EARLY = (-1, -1_001, 1, 1_001)

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


@pytest.mark.spark
def test_spark_reads_exact_times_without_any_setting(path: Path, nanos: list[int]) -> None:
    process = subprocess.run(
        [sys.executable, "-c", _SPARK, str(path)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )

    (line,) = [line for line in process.stdout.splitlines() if line.startswith("FOUND")] or [""]
    assert line, process.stderr[-3_000:]
    found = json.loads(line.removeprefix("FOUND"))
    assert found == {"type": "timestamp", "nanos": nanos, "late": 1}


def _duckdb(select: str, path: Path, where: str = "") -> list[tuple[object, ...]]:
    with duckdb.connect() as database:
        query = f"{select} FROM read_parquet('{path}') {where}"
        return [tuple(row) for row in database.execute(query).fetchall()]
