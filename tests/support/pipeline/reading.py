"""Reading as a query engine does it: look segments up in meta, then read them."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import duckdb

from meta.client import MetaClient
from meta.v1.common_pb2 import SegmentInfo
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest
from tests.support.pipeline.sending import ID, Record, Signal

_COLUMNS = {
    "logs": ("body", "severity_number"),
    "metrics": ("metric_name", "value_long"),
    "traces": ("name", "duration_ns"),
}


def find_all(client: MetaClient, dataset: str, version: int | None = None) -> list[SegmentInfo]:
    """Every segment of a dataset at a version, all pages of one cursor."""
    request = FindSegmentsRequest(dataset_names=[dataset], limit=50)
    if version is not None:
        request.as_of_version = version
    found: list[SegmentInfo] = []
    while True:
        reply = client.segment_lookup.FindSegments(request)
        found += reply.segments
        if not reply.page.next_cursor:
            return found
        request.cursor = reply.page.next_cursor


def paths(root: Path, segments: Iterable[SegmentInfo]) -> list[str]:
    """Paths of the segments' objects in a folder store."""
    keys = (s.cloud_object_key for s in segments)
    return [str(root / k.prefix.prefix.strip("/") / k.key) for k in keys]


def read_records(files: list[str]) -> Counter[Record]:
    """The bag of records in the files, with the fields a Record has."""
    bag: Counter[Record] = Counter()
    if not files:
        return bag
    with duckdb.connect() as database:
        table = database.read_parquet(files, union_by_name=True)
        columns = set(table.columns)
        for signal, (text, number) in _COLUMNS.items():
            if text in columns:
                bag.update(_records(database, table, signal, text, number))  # type: ignore[arg-type]
    return bag


def _records(
    database: duckdb.DuckDBPyConnection,
    table: duckdb.DuckDBPyRelation,
    signal: Signal,
    text: str,
    number: str,
) -> list[Record]:
    database.register("segments", table.to_arrow_table())
    rows = database.execute(
        f"""
        SELECT attributes->>'$."{ID}"', service_name,
            epoch_us("timestamp") * 1000 + timestamp_nanos, {text}, {number}
        FROM segments WHERE signal = '{signal}'
        """  # noqa: S608
    ).fetchall()
    return [
        Record(id=i, signal=signal, service=service, time_nanos=t, text=x, number=int(n))
        for i, service, t, x, n in rows
    ]
