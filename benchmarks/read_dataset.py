"""Reading a dataset with open_dataset against pyarrow on the bare list of its files.

1,000 files in a real meta: pin, lookup and release are in our time. And a fresh reading of baby
segments against what a nursery does to decode them. CPU time of the reading process, in turn.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from benchmarks.harness.babies import BabySpec, write_babies
from benchmarks.harness.merged_segments import write_segments
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres, bench_server
from benchmarks.harness.timing import least_cpu
from dataplane.babies.columns import DatasetColumns, DecodedDataset
from dataplane.babies.decoding import RoutedPayload, decode_pass
from dataplane.babies.reader import BabyReader
from dataplane.babies.reads import DatasetWork, Routes, TaskRead
from dataplane.babies.routing import Router
from dataplane.registration import create_segment
from meta.client import MetaClient
from meta.v1 import catalog_pb2, ingestion_pb2
from segments.keys import new_merged_key
from segments.location import StoreLocation
from segments.offsets import OffsetSpan
from segments.parquet.footer import SegmentFacts, SegmentFooter
from segments.parquet.reader import SegmentFile
from segments.parquet.spec import SegmentSpec
from segments.parquet.writer import SegmentWriter
from segments.signals import SIGNALS, Signal
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from segplane.read import open_dataset
from segplane.read.rows.columns import ReadColumns
from segplane.read.rows.fresh import FreshRecords
from segplane.read.rows.fresh_batches import PASS_BYTES, FreshReading

FILES = 1_000
ROWS = 4_000
ROUNDS = 7
DATASET = "bench"
COLUMNS = ["timestamp", "timestamp_nanos", "service_name", "severity_number", "body"]
BABIES = BabySpec(babies=32, datasets=1, streams=2, datasets_per_baby=1, size_bytes=64_000_000)


def run() -> list[Result]:
    """Measure both."""
    return [_files(), _fresh()]


def _files() -> Result:
    with _folder() as folder:
        objects = folder / "objects"
        objects.mkdir()
        settings = {"META_OBJECT_STORE_URL": objects.as_uri()}
        with bench_postgres() as postgres, bench_server(postgres.url, settings) as server:
            with server.client() as client:
                paths = _register(client, folder, objects)

            def ours() -> pa.Table:
                with open_dataset(
                    DATASET, "logs", columns=COLUMNS, meta_address=server.address
                ) as dataset:
                    return dataset.to_table()

            def bare() -> pa.Table:
                source = ds.dataset(paths, format="parquet")
                return source.to_table(columns=COLUMNS, filter=pc.field("signal") == "logs")

            assert ours().num_rows == bare().num_rows > 0
            mine, theirs = least_cpu([ours, bare], ROUNDS)
    return compare(
        "read_open_dataset",
        mine,
        theirs,
        reference_name=f"pyarrow on the list of {FILES} files",
        unit="ms of CPU",
        bar=1.1,
        higher_is_better=False,
    )


def _register(client: MetaClient, folder: Path, objects: Path) -> list[str]:
    """Register FILES files of one dataset; returns their paths."""
    dataset_id = client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=DATASET)).id
    reply = client.ingestion.DownloadConfig(
        ingestion_pb2.DownloadConfigRequest(worker_id="bench", omit_datasets=True)
    )
    bucket = reply.cloud_object_prefix.bucket
    path, facts = _some_rows(folder, dataset_id)
    request = ingestion_pb2.SaveSegmentsRequest()
    paths = []
    for _ in range(FILES):
        key = new_merged_key(dataset_id)
        target = objects / key
        target.parent.mkdir(parents=True, exist_ok=True)
        os.link(path, target)
        paths.append(str(target))
        request.segments.append(create_segment(dataset_id, bucket, key, facts))
    client.ingestion.SaveSegments(request)
    return paths


def _some_rows(folder: Path, dataset_id: str) -> tuple[Path, SegmentFacts]:
    """Write the first rows of a large segment as their own file."""
    (source,) = write_segments(folder, 1)
    path = folder / "small.parquet"
    footer = SegmentFooter(dataset_id, "benchmark")
    with (
        SegmentFile(source) as segment,
        SegmentWriter(path, SIGNALS, SegmentSpec(), footer) as writer,
    ):
        for signal in SIGNALS:
            batch = next(segment.batches(signal, ROWS // len(SIGNALS)))
            writer.write(signal, pa.Table.from_batches([batch]))
        return path, writer.close()


def _fresh() -> Result:
    with _folder() as folder:
        location = StoreLocation.from_url(folder.as_uri())
        babies = write_babies(location, BABIES)
        (dataset_id,) = {d for s in babies.streams for b in s.babies for d in b.dataset_ids}
        fresh = FreshRecords(
            dataset_id,
            location,
            babies=[
                TaskRead(stream.stream_id, baby.offset, False, baby.dataset_ids)
                for stream in babies.streams
                for baby in stream.babies
            ],
        )
        store = open_store(location)

        def ours() -> int:
            reading = FreshReading(fresh, ReadColumns(SIGNALS, (), None))
            return sum(batch.num_rows for batch in reading.batches())

        def nursery() -> int:
            return _decode(store, fresh)

        assert ours() == nursery() == babies.records
        mine, theirs = least_cpu([ours, nursery], ROUNDS)
    return compare(
        "read_fresh",
        mine,
        theirs,
        reference_name="decoding as a nursery does",
        unit="ms of CPU",
        bar=1.5,
        higher_is_better=False,
    )


def _decode(store: ObjectStore, fresh: FreshRecords) -> int:
    """Fetch, check, route and decode babies, in passes of the same size; returns the rows."""
    last = max(baby.offset for baby in fresh.babies)
    streams = sorted({baby.stream_id for baby in fresh.babies})
    spans = tuple(OffsetSpan(stream, 0, last) for stream in streams)
    dataset = DecodedDataset(0, DatasetWork(fresh.dataset_id, SegmentSpec(), spans))
    router = Router([Routes(stream, {}, ()) for stream in streams], [dataset])
    reads = fresh.babies
    reader = BabyReader(store, _NoQuarantine())
    rows, pending_bytes = 0, 0
    pending: dict[Signal, list[RoutedPayload[DecodedDataset]]] = {}
    for read, body in reader.fetch(reads):
        baby, received_at = reader.decode(read, body, router.is_wanted(read))
        for routed in router.route(read, baby, received_at):
            assert isinstance(routed, tuple)
            pending.setdefault(routed[1].signal, []).append(RoutedPayload(*routed))
            pending_bytes += routed[1].decoded_bytes
        if pending_bytes >= PASS_BYTES or read is reads[-1]:
            for signal, payloads in pending.items():
                decode_pass(signal, payloads)
            rows += dataset.columns.rows
            dataset.columns, pending, pending_bytes = DatasetColumns(), {}, 0
    return rows


class _NoQuarantine:
    def put_baby(self, *arguments: object, **named: object) -> None:
        raise AssertionError((arguments, named))


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
