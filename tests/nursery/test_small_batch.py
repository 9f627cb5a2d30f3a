"""Many small datasets of one task: each gets its own records, whatever befalls the others."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from dataplane.babies.columns import DatasetColumns, Rows
from dataplane.babies.reads import DatasetWork, Routes, TaskRead
from nursery.execution import small_batch
from nursery.execution.dataset_execution import DatasetExecution
from nursery.execution.execute import Budget, execute
from nursery.planning.tasks import Task
from nursery.results import TaskResult
from segments.baby import Baby, BabyKind, TokenPart, encode_baby
from segments.errors import StoreUnavailable
from segments.keys import baby_key
from segments.location import StoreLocation
from segments.offsets import OffsetSpan
from segments.parquet import small_writer
from segments.parquet.reader import read_footer, read_segment
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.signals import Signal
from segments.store.folder import FolderStore
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from tests.support.parquet.rows import plain_sections

DAY = 86_400 * 10**9
NOW = 1_700_000_000 * 10**9
STREAM = str(uuid4())
BABIES, DATASETS = 4, 12
IDS = [f"0198a7c0-0000-7000-8000-{number:012}" for number in range(DATASETS)]
# Several passes, all of which are held until the end.
BUDGET = Budget(decode_bytes_max=9_000, held_bytes_max=1 << 28)
SPECS = (
    SegmentSpec(),
    SegmentSpec(("severity_text",)),
    SegmentSpec(
        ("service",),
        (
            PromotedColumn("number", "long", "record", "number"),
            PromotedColumn("service", "string", "resource", "service.name"),
        ),
    ),
)


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    (tmp_path / "objects").mkdir()
    return open_store(StoreLocation.from_url((tmp_path / "objects").as_uri()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def test_each_of_many_small_datasets_gets_exactly_its_own_records(
    store: ObjectStore, folder: Path
) -> None:
    expected = put_babies(store)

    result = execute(task(), store, BUDGET, folder)

    assert found(store, result) == expected
    assert [len(one.segments) for one in result.datasets] == [1] * DATASETS


@pytest.mark.long
def test_small_datasets_have_the_same_rows_together_and_alone(
    store: ObjectStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_babies(store)
    side_by_side = execute(task(), store, BUDGET, folder)
    monkeypatch.setattr(small_batch, "SMALL_BYTES_MAX", -1)

    alone = execute(task(), store, BUDGET, folder)

    for one, other in zip(side_by_side.datasets, alone.datasets, strict=True):
        (mine,), (its,) = one.segments, other.segments
        mine_read, its_read = read_segment(store, mine.key), read_segment(store, its.key)
        assert plain_sections(mine_read) == plain_sections(its_read)
        footers = read_footer(store, mine.key).footer, read_footer(store, its.key).footer
        assert footers[0].ranges == footers[1].ranges
        of_the_file: dict[str, Any] = {
            "size_bytes": 0,
            "compressed_size_bytes": 0,
            "crc32c": 0,
        }
        assert replace(mine.facts, **of_the_file) == replace(its.facts, **of_the_file)


@pytest.mark.long
def test_datasets_that_are_too_much_text_together_are_written_alone(
    store: ObjectStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_writer, "TEXT_BYTES_MAX", 1_000)
    expected = put_babies(store)

    result = execute(task(), store, BUDGET, folder)

    assert found(store, result) == expected


@pytest.mark.long
def test_a_dataset_of_several_days_has_a_file_for_each_and_its_neighbours_one(
    store: ObjectStore, folder: Path
) -> None:
    expected = put_babies(store, days={3: 2, 7: 3})

    result = execute(task(), store, BUDGET, folder)

    assert found(store, result) == expected
    counts = [len(one.segments) for one in result.datasets]
    assert counts == [2 if i == 3 else 3 if i == 7 else 1 for i in range(DATASETS)]


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        pytest.param([(60, 1), (40, 1), (1, 1)], [2, 1], id="bytes"),
        pytest.param([(1, 6), (1, 4), (1, 1)], [2, 1], id="rows"),
        pytest.param([(200, 20), (1, 1)], [1, 1], id="one beyond both"),
    ],
)
def test_a_group_ends_at_either_limit_of_what_is_sorted_together(
    monkeypatch: pytest.MonkeyPatch, sizes: list[tuple[int, int]], groups: list[int]
) -> None:
    monkeypatch.setattr(small_batch, "BATCH_BYTES_MAX", 100)
    monkeypatch.setattr(small_batch, "BATCH_ROWS_MAX", 10)
    smalls = []
    for place, (otlp_bytes, rows) in enumerate(sizes):
        columns = DatasetColumns(otlp_bytes=otlp_bytes)
        columns.add("logs", Rows(pa.table({"body": ["x"] * rows}), 0, rows, rows))
        work = DatasetWork(IDS[place], SegmentSpec(), ())
        smalls.append(small_batch.SmallDataset(DatasetExecution(place, work), columns))

    assert [len(group) for group in small_batch.group_small(smalls)] == groups


class PickyStore(FolderStore):
    """A folder that takes no segment of one dataset."""

    def put_if_absent(self, key: str, *pieces: bytes | memoryview) -> None:
        if IDS[4] in key:
            raise StoreUnavailable("no space left")
        FolderStore(self.location).put_if_absent(key, *pieces)


def test_an_upload_that_fails_is_an_error_of_its_dataset_alone(
    store: ObjectStore, folder: Path
) -> None:
    expected = put_babies(store)
    expected[4] = {}

    result = execute(task(), PickyStore(store.location), BUDGET, folder)

    errors = [one.error for one in result.datasets]
    assert errors == ["StoreUnavailable: no space left" if i == 4 else "" for i in range(DATASETS)]
    assert found(store, result) == expected


def task() -> Task:
    return Task(
        works=tuple(
            DatasetWork(dataset_id, SPECS[i % len(SPECS)], (OffsetSpan(STREAM, 0, BABIES - 1),))
            for i, dataset_id in enumerate(IDS)
        ),
        reads=tuple(TaskRead(STREAM, offset, is_owner=True) for offset in range(BABIES)),
        routes=(Routes(STREAM, dict.fromkeys(IDS, -1), ()),),
    )


def put_babies(
    store: ObjectStore, days: Mapping[int, int] | None = None
) -> list[dict[Signal, list[str]]]:
    """Put babies of all datasets; returns the names of each one's records by signal, sorted."""
    expected: list[dict[Signal, list[str]]] = [{} for _ in IDS]
    for offset in range(BABIES):
        parts: list[TokenPart] = []
        for index, dataset_id in enumerate(IDS):
            token_id = str(uuid4())
            for signal in signals_of(index):
                names = [f"{signal}-{index}-{offset}-{i}" for i in range(15 + index)]
                expected[index].setdefault(signal, []).extend(names)
                day = offset % (days or {}).get(index, 1)
                payload = payload_of(signal, names, index, NOW + day * DAY + offset * 1_000)
                parts.append(TokenPart(token_id, signal, (payload,), dataset_id, len(names)))
        baby = Baby(tuple(parts), BabyKind.DATA, b"f" * 16, NOW)
        store.put_if_absent(baby_key(STREAM, offset), encode_baby(baby))
    return [{s: sorted(names) for s, names in one.items()} for one in expected]


def signals_of(index: int) -> tuple[Signal, ...]:
    every: tuple[tuple[Signal, ...], ...] = (
        ("logs",),
        ("logs", "traces", "metrics"),
        ("traces", "logs", "metrics"),
        ("metrics", "traces"),
    )
    return every[index % len(every)]


def payload_of(signal: Signal, names: list[str], index: int, time: int) -> bytes:
    """Make one export; its services are the dataset's own."""
    data = LogsData() if signal == "logs" else TracesData() if signal == "traces" else MetricsData()
    if isinstance(data, LogsData):
        logs = data.resource_logs.add()
        resource, records = logs.resource, logs.scope_logs.add().log_records
        for i, name in enumerate(names):
            record = records.add(time_unix_nano=time - i, severity_text=f"level {i % 3}")
            record.body.string_value = name
            record.attributes.add(key="number").value.string_value = str(i)
    elif isinstance(data, TracesData):
        traces = data.resource_spans.add()
        resource, spans = traces.resource, traces.scope_spans.add().spans
        for i, name in enumerate(names):
            spans.add(name=name, start_time_unix_nano=time - i)
    else:
        points = data.resource_metrics.add()
        resource, metrics = points.resource, points.scope_metrics.add().metrics
        for i, name in enumerate(names):
            metric = metrics.add(name=name)
            kind = metric.gauge.data_points if i % 2 else metric.sum.data_points
            kind.add(time_unix_nano=time - i, as_int=i)
    resource.attributes.add(key="service.name").value.string_value = f"web-{index}"
    return data.SerializeToString()


def found(store: ObjectStore, result: TaskResult) -> list[dict[Signal, list[str]]]:
    """The names of each dataset's records, by signal, sorted; services are checked."""
    columns: dict[Signal, str] = {"logs": "body", "traces": "name", "metrics": "metric_name"}
    every: list[dict[Signal, list[str]]] = []
    for index, one in enumerate(result.datasets):
        names: dict[Signal, list[str]] = {}
        for segment in one.segments:
            for signal, table in read_segment(store, segment.key).items():
                assert set(table["service_name"].to_pylist()) == {f"web-{index}"}
                names.setdefault(signal, []).extend(map(str, table[columns[signal]].to_pylist()))
        every.append({signal: sorted(values) for signal, values in names.items()})
    return every
