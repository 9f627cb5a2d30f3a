"""A nursery's tasks for a dataset that is deduplicated, beside the same one without.

The same baby segments are merged in pairs, in one process and to a folder. The CPU that Postgres
and meta take to claim the deduplication keys and merge their runs is added, with as many present as
`benchmarks.deduplication_keys` fills.
"""

import os
import shutil
import statistics
import tempfile
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from uuid import UUID, uuid4

from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from benchmarks import deduplication_keys
from benchmarks.harness.results import Result, compare
from dataplane.babies.reads import DatasetWork, Routes, TaskRead
from nursery.execution.execute import Budget, execute
from nursery.planning.tasks import Task
from segments.baby import Baby, BabyKind, TokenPart, encode_baby
from segments.deduplication import Deduplication
from segments.keys import baby_key
from segments.location import StoreLocation
from segments.offsets import OffsetSpan
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.store.interface import ObjectStore
from segments.store.open import open_store

BABIES = 20
RECORDS = 2_000
PAIRS = 12
BAR = 0.5
_COLUMN = PromotedColumn("event_id", "string", "record", "event_id", 1_000, is_bound=True)
ROWS_SPEC = SegmentSpec(promoted=(_COLUMN,))
ONCE_SPEC = replace(ROWS_SPEC, deduplication=Deduplication(1, "event_id"))
_STREAM, _TOKEN, _DATASET = (str(uuid4()) for _ in range(3))


def run() -> list[Result]:
    """Pairs of merges; the medians, and what Postgres and meta take."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
    try:
        (folder / "objects").mkdir()
        store = open_store(StoreLocation.from_url((folder / "objects").as_uri()))
        for offset in range(BABIES):
            put_baby(store, offset)
        micros: dict[SegmentSpec, list[float]] = {ROWS_SPEC: [], ONCE_SPEC: []}
        for pair in range(PAIRS + 1):
            for spec in (ROWS_SPEC, ONCE_SPEC) if pair % 2 else (ONCE_SPEC, ROWS_SPEC):
                taken = merge(store, spec, folder / "work")
                if pair:
                    micros[spec].append(taken)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    plain, once = (statistics.median(micros[spec]) for spec in (ROWS_SPEC, ONCE_SPEC))
    claim = deduplication_keys.claim_micros()
    print(f"  a record: task {plain:.1f} and {once:.1f} µs, Postgres and meta {claim:.1f} µs")
    return [
        compare(
            "nursery_events_once",
            1e6 / (once + claim),
            1e6 / plain,
            reference_name=f"without it, {deduplication_keys.IDENTITIES:,} keys present",
            unit="records a second of CPU of a task, Postgres and meta",
            bar=BAR,
        )
    ]


def put_baby(store: ObjectStore, offset: int) -> None:
    """Put a baby segment of RECORDS logs, each with a deduplication key."""
    data, now = LogsData(), time.time_ns()
    container = data.resource_logs.add()
    container.resource.attributes.add(key="service.name").value.string_value = "shop"
    records = container.scope_logs.add().log_records
    for number, sequence in zip(range(RECORDS), count(offset * RECORDS)):
        record = records.add(time_unix_nano=now + number, severity_number=9)
        record.body.string_value = f"order {sequence} of {os.urandom(96).hex()} is paid"
        texts = {"event_id": str(UUID(int=sequence * 2**64 + now)), "plan": f"p{number % 7}"}
        texts |= {f"attribute{n}": f"value {sequence * (n + 7919) % 10_007}" for n in range(6)}
        for key, text in texts.items():
            record.attributes.add(key=key).value.string_value = text
    part = TokenPart(
        _TOKEN, "logs", (data.SerializeToString(),), _DATASET, RECORDS, now, now + RECORDS
    )
    baby = Baby((part,), BabyKind.DATA, bytes(16), now, True)
    store.put_if_absent(baby_key(_STREAM, offset), encode_baby(baby))


def merge(store: ObjectStore, spec: SegmentSpec, folder: Path) -> float:
    """Merge all baby segments; CPU microseconds a record."""
    task = Task(
        works=(DatasetWork(_DATASET, spec, (OffsetSpan(_STREAM, 0, BABIES - 1),)),),
        reads=tuple(TaskRead(_STREAM, offset, is_owner=True) for offset in range(BABIES)),
        routes=(Routes(_STREAM, {_DATASET: -1}, ()),),
    )
    folder.mkdir()
    began = time.process_time()
    result = execute(task, store, Budget(1 << 26, 1 << 28), folder)
    taken = time.process_time() - began
    shutil.rmtree(folder)
    (dataset,) = result.datasets
    assert not dataset.error, dataset.error
    assert sum(segment.facts.rows for segment in dataset.segments) == BABIES * RECORDS
    return taken * 1e6 / (BABIES * RECORDS)
