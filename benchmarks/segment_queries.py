"""Time of DuckDB to find rows in a merged segment, against the same rows stored otherwise.

A point lookup by trace id, where the other file is what pyarrow writes by default; and equality on
an attribute, promoted to a column against looked up in the JSON text of the same file.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.harness.merged_segments import DATASET_ID, write_segments
from benchmarks.harness.results import Result, compare
from benchmarks.harness.timing import interleaved
from segments.location import StoreLocation
from segments.merging.inputs import MergeInput
from segments.merging.merge import MergeOrder, merge_segments
from segments.parquet.reader import SegmentFile
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.store.open import open_store

SEGMENTS = 8
ROUNDS = 15
THREADS = 2
PROMOTED = PromotedColumn("user_id", "string", "record", "user.id")
USER = "u4711"


def run() -> list[Result]:
    """Merge some segments into the file that is asked, then time both pairs of queries."""
    with tempfile.TemporaryDirectory(prefix="segplane-bench-") as name:
        folder = Path(name)
        ours, defaults = _files(folder)
        print(
            f"  {ours.stat().st_size / 1e6:.0f} MB, by default {defaults.stat().st_size / 1e6:.0f}"
        )
        connection = duckdb.connect(config={"threads": THREADS})
        return [*_lookup(connection, ours, defaults), _equality(connection, ours)]


def _files(folder: Path) -> tuple[Path, Path]:
    paths = write_segments(folder, SEGMENTS)
    inputs = []
    for path in paths:
        with SegmentFile(path) as segment:
            stored = segment.stored
        inputs.append(
            MergeInput(path.name, path.name, stored.rows, stored.start_time, stored.end_time)
        )
    store = open_store(StoreLocation.from_url(folder.as_uri()))
    order = MergeOrder(DATASET_ID, "benchmark", SegmentSpec(promoted=(PROMOTED,)))
    (folder / "out").mkdir()
    merge_segments(store, inputs, order, folder / "out")
    ours, defaults = folder / "out" / "merged.parquet", folder / "defaults.parquet"
    pq.write_table(pq.read_table(ours), defaults)
    return ours, defaults


def _lookup(
    connection: duckdb.DuckDBPyConnection, ours: Path, defaults: Path
) -> tuple[Result, Result]:
    trace_ids = _some_trace_ids(ours)

    def look_up(path: Path) -> Callable[[], object]:
        def look_up_all() -> None:
            for trace_id in trace_ids:
                query = f"SELECT * FROM '{path}' WHERE trace_id = $id"  # noqa: S608
                found = connection.sql(query, params={"id": trace_id})
                assert found.to_arrow_table().num_rows

        return look_up_all

    mine, theirs = interleaved([look_up(ours), look_up(defaults)], ROUNDS)
    return (
        compare(
            "query_lookup_by_trace_id",
            mine / len(trace_ids),
            theirs / len(trace_ids),
            reference_name="the same rows written with pyarrow's defaults",
            unit="ms, DuckDB",
            bar=0.5,
            higher_is_better=False,
        ),
        compare(
            "query_lookup_file_size",
            ours.stat().st_size / 1e6,
            defaults.stat().st_size / 1e6,
            reference_name="the same rows written with pyarrow's defaults",
            unit="MB",
            bar=1.0,
            higher_is_better=False,
        ),
    )


def _some_trace_ids(path: Path) -> list[str]:
    """Take ids from all over the file."""
    ids: pa.ChunkedArray[pa.StringScalar] = pq.read_table(path, columns=["trace_id"])["trace_id"]
    present = pc.drop_null(ids)
    step = len(present) // 5
    return [present[step // 2 + number * step].as_py() for number in range(5)]


def _equality(connection: duckdb.DuckDBPyConnection, path: Path) -> Result:
    def count(condition: str) -> Callable[[], object]:
        query = f"SELECT count(*) FROM '{path}' WHERE signal = 'logs' AND {condition}"  # noqa: S608

        def run_query() -> object:
            return connection.execute(query, [USER]).fetchone()

        return run_query

    promoted = count("user_id = ?")
    json = count("attributes ->> '$.\"user.id\"' = ?")
    assert promoted() == json() != (0,)
    mine, theirs = interleaved([promoted, json], ROUNDS)
    return compare(
        "query_promoted_equality",
        mine,
        theirs,
        reference_name="the same in the attributes' JSON, in the same file",
        unit="ms, DuckDB",
        bar=1 / 8,
        higher_is_better=False,
    )
