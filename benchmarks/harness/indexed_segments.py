"""Segments with token indexes: merged, registered in a real meta, and asked in KQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.harness.registering import save_files
from benchmarks.harness.server import bench_postgres, bench_server
from meta.client import MetaClient
from meta.v1 import catalog_pb2
from segments.merging.inputs import MergeInput
from segments.parquet.footer import SegmentFacts
from segments.parquet.reader import SegmentFile
from segplane.query.engine import QueryLimits, RunningQuery, opened_query
from segplane.query.plan import QueryPlan
from segplane.query.runs import plan
from segplane.query.sources import QueryPlace


def merge_input(path: Path) -> MergeInput:
    """Return a segment as an input of a merge."""
    with SegmentFile(path) as segment:
        stored = segment.stored
    rows, times = stored.rows, (stored.start_time, stored.end_time)
    return MergeInput(path.name, path.name, rows, *times, size_bytes=path.stat().st_size)


@contextmanager
def registered(
    folder: Path, files: Iterable[tuple[Path, SegmentFacts]]
) -> Iterator[tuple[MetaClient, QueryPlace]]:
    """Register files as the segments of dataset `web`, with their objects below a folder."""
    objects = folder / "objects"
    objects.mkdir()
    with (
        bench_postgres() as postgres,
        bench_server(postgres.url, {"META_OBJECT_STORE_URL": objects.as_uri()}) as server,
        server.client() as client,
    ):
        dataset = client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="web")).id
        save_files(client, dataset, objects, files)
        yield client, QueryPlace(server.address)


def search_plan(client: MetaClient, text: str) -> QueryPlan:
    """Plan the count of the records with a text."""
    return plan(client, f"web | where body has '{text}' | count", None, datetime.now(UTC))


def without_index(planned: QueryPlan) -> QueryPlan:
    """Return a plan that asks for no terms."""
    return replace(planned, reads=tuple(replace(read, terms=()) for read in planned.reads))


@contextmanager
def answered(planned: QueryPlan, place: QueryPlace) -> Iterator[RunningQuery]:
    """Run a plan that counts one record."""
    with opened_query(planned, place, QueryLimits(threads=2)) as query:
        assert query.reader().read_all().column(0).to_pylist() == [1]
        yield query


def search(planned: QueryPlan, place: QueryPlace) -> None:
    """Run a plan that counts one record."""
    with answered(planned, place):
        pass
