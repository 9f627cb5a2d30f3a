"""One task on real files: what is written, what is put aside, what stops a stream."""

from pathlib import Path
from uuid import uuid4

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from dataplane.babies.reads import DatasetWork, Period, Routes, TaskRead
from nursery.execution.execute import Budget, execute
from nursery.planning.tasks import Task
from segments.baby import TokenPart
from segments.errors import StoreUnavailable
from segments.keys import baby_key
from segments.location import StoreLocation
from segments.offsets import OffsetSpan
from segments.parquet.reader import read_footer, read_segment
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.store.folder import FolderStore
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from tests.support.nursery.tasks import (
    DAY,
    NOW,
    ONE,
    ROOMY,
    STREAM,
    TOKEN,
    TWO,
    bodies,
    logs,
    part,
    put,
    task,
)


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    (tmp_path / "objects").mkdir()
    return open_store(StoreLocation.from_url((tmp_path / "objects").as_uri()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def test_records_of_all_babies_and_signals_become_one_sorted_segment(
    store: ObjectStore, folder: Path
) -> None:
    spans, points = TracesData(), MetricsData()
    spans.resource_spans.add().scope_spans.add().spans.add(name="op", start_time_unix_nano=NOW)
    metric = points.resource_metrics.add().scope_metrics.add().metrics.add(name="m")
    metric.gauge.data_points.add(time_unix_nano=NOW, as_int=3)
    put(store, 0, part(logs("b", "a")), part(spans.SerializeToString(), ONE, "traces"))
    put(store, 1, part(logs("c")), part(points.SerializeToString(), ONE, "metrics"))

    result = execute(task(1, ONE), store, ROOMY, folder)

    (segment,) = result.datasets[0].segments
    assert result.datasets[0].error == ""
    assert segment.facts.rows == 5
    sections = read_segment(store, segment.key)
    assert list(sections) == ["logs", "metrics", "traces"]
    assert sections["logs"]["body"].to_pylist() == ["a", "b", "c"]
    footer = read_footer(store, segment.key)
    assert footer.footer.dataset_id == ONE
    assert footer.footer.ranges == (OffsetSpan(STREAM, 0, 1),)
    assert [(b.part, b.parts) for b in footer.footer.batches] == [(1, 1)]
    assert list(folder.iterdir()) == []


def test_datasets_share_a_pass_and_not_a_file(store: ObjectStore, folder: Path) -> None:
    put(store, 0, part(logs("one")), TokenPart(str(uuid4()), "logs", (logs("two"),), TWO, 1))

    result = execute(task(0, ONE, TWO), store, ROOMY, folder)

    assert bodies(store, result, 0) == ["one"]
    assert bodies(store, result, 1) == ["two"]


def test_each_utc_day_gets_a_file_and_the_smallest_share_one(
    store: ObjectStore, folder: Path
) -> None:
    for day in range(12):
        put(store, day, part(logs(*["x"] * (day + 1), time=NOW + day * DAY)))

    result = execute(task(11, ONE), store, ROOMY, folder)

    segments = result.datasets[0].segments
    assert sum(s.facts.rows for s in segments) == 78
    assert len(segments) == 9
    assert max(s.facts.end_time - s.facts.start_time for s in segments[:8]) < DAY
    assert segments[8].facts.rows == 1 + 2 + 3 + 4
    parts = [read_footer(store, s.key).footer.batches[0] for s in segments]
    assert [(p.part, p.parts) for p in parts] == [(i, 9 if i == 9 else 0) for i in range(1, 10)]


def test_a_task_above_its_budget_writes_more_files(store: ObjectStore, folder: Path) -> None:
    for offset in range(3):
        put(store, offset, part(logs(f"baby {offset}")))

    result = execute(task(2, ONE), store, Budget(decode_bytes_max=1, held_bytes_max=1), folder)

    assert len(result.datasets[0].segments) == 3
    assert sorted(bodies(store, result)) == ["baby 0", "baby 1", "baby 2"]


def test_an_unstamped_baby_follows_the_routing_of_its_offset(
    store: ObjectStore, folder: Path
) -> None:
    for offset in range(3):
        put(store, offset, part(logs(f"baby {offset}"), None), is_stamped=False)
    periods = (
        Period(TOKEN, 0, {"logs": ONE}),
        Period(TOKEN, 1, {"logs": TWO}),
        Period(TOKEN, 2, {"traces": TWO}),
    )

    result = execute(task(2, ONE, TWO, periods=periods), store, ROOMY, folder)

    assert bodies(store, result, 0) == ["baby 0"]
    assert bodies(store, result, 1) == ["baby 1"]
    assert result.quarantined_payloads == (("no_route", 1),)


def test_a_record_of_an_unstamped_baby_without_a_time_takes_the_objects(
    store: ObjectStore, folder: Path
) -> None:
    put(store, 0, part(logs("timeless", time=0), None), is_stamped=False)

    result = execute(task(0, ONE, periods=(Period(TOKEN, 0, {"logs": ONE}),)), store, ROOMY, folder)

    (segment,) = result.datasets[0].segments
    assert segment.facts.start_time == store.head(baby_key(STREAM, 0)).modified_at_nanos


def test_a_missing_baby_stops_its_stream_and_no_other(store: ObjectStore, folder: Path) -> None:
    other = str(uuid4())
    put(store, 0, part(logs("here")))
    body = store.get(baby_key(STREAM, 0))
    store.put_if_absent(baby_key(other, 0), body)
    wanted = Task(
        works=(
            DatasetWork(ONE, SegmentSpec(), (OffsetSpan(other, 0, 0),)),
            DatasetWork(TWO, SegmentSpec(), (OffsetSpan(STREAM, 0, 1),)),
        ),
        reads=(
            TaskRead(STREAM, 0, is_owner=True),
            TaskRead(STREAM, 1, is_owner=True),
            TaskRead(other, 0, is_owner=True),
        ),
        routes=(Routes(STREAM, {ONE: -1, TWO: -1}, ()), Routes(other, {ONE: -1}, ())),
    )

    result = execute(wanted, store, ROOMY, folder)

    assert [(u.stream_id, u.offset) for u in result.unreadable] == [(STREAM, 1)]
    assert "ObjectMissing" in result.datasets[1].error
    assert result.datasets[0].error == ""
    assert bodies(store, result, 0) == ["here"]


class FullStore(FolderStore):
    """A folder that takes no segment."""

    def put_if_absent(self, key: str, *pieces: bytes | memoryview) -> None:
        raise StoreUnavailable("no space left")

    def put_file_if_absent(self, key: str, path: Path) -> None:
        raise StoreUnavailable("no space left")


def test_a_failing_store_is_an_error_of_the_dataset(store: ObjectStore, folder: Path) -> None:
    put(store, 0, part(logs("here")))

    result = execute(task(0, ONE), FullStore(store.location), ROOMY, folder)

    assert result.datasets[0].error == "StoreUnavailable: no space left"
    assert list(folder.iterdir()) == []


def test_promoted_columns_and_sharding_fields_are_applied(store: ObjectStore, folder: Path) -> None:
    put(store, 0, part(logs("z", "y", "x")))
    spec = SegmentSpec(
        sharding_fields=("region",),
        promoted=(PromotedColumn("region", "string", "record", "region"),),
    )

    result = execute(task(0, ONE, spec=spec), store, ROOMY, folder)

    table = read_segment(store, result.datasets[0].segments[0].key)["logs"]
    assert table["region"].to_pylist() == ["eu-0", "eu-1", "eu-2"]
    assert table["body"].to_pylist() == ["z", "y", "x"]


def test_an_attribute_that_does_not_fit_its_promoted_column_is_null_and_counted(
    store: ObjectStore, folder: Path
) -> None:
    put(store, 0, part(logs("b", "a")), TokenPart(str(uuid4()), "logs", (logs("c"),), TWO, 1))
    spec = SegmentSpec(promoted=(PromotedColumn("number", "long", "record", "region"),))
    one_and_two = task(0, ONE, TWO, spec=spec)

    result = execute(one_and_two, store, ROOMY, folder)

    assert [dict(found.unconverted) for found in result.datasets] == [{"number": 2}, {"number": 1}]
    table = read_segment(store, result.datasets[0].segments[0].key)["logs"]
    assert table["number"].to_pylist() == [None, None]
    assert table["attributes"].to_pylist() == ['{"region":"eu-1"}', '{"region":"eu-0"}']


def test_a_resource_that_does_not_fit_counts_for_its_own_dataset_alone(
    store: ObjectStore, folder: Path
) -> None:
    other = logs("c").replace(b"web", b"404")
    put(store, 0, part(logs("b", "a")), TokenPart(str(uuid4()), "logs", (other,), TWO, 1))
    spec = SegmentSpec(promoted=(PromotedColumn("number", "long", "resource", "service.name"),))

    result = execute(task(0, ONE, TWO, spec=spec), store, ROOMY, folder)

    assert [dict(found.unconverted) for found in result.datasets] == [{"number": 1}, {}]
    table = read_segment(store, result.datasets[1].segments[0].key)["logs"]
    assert table["number"].to_pylist() == [404]


def test_files_that_share_a_baby_are_parts_of_one_batch(store: ObjectStore, folder: Path) -> None:
    slices = tuple(logs(f"{number}") for number in range(5))
    put(store, 0, TokenPart(TOKEN, "logs", slices, ONE, 5, NOW, NOW))
    put(store, 1, part(logs("later")))

    result = execute(task(1, ONE), store, Budget(1, 1), folder)

    footers = [read_footer(store, s.key).footer for s in result.datasets[0].segments]
    first = [f.batches[0] for f in footers if f.ranges == (OffsetSpan(STREAM, 0, 0),)]
    assert sorted(bodies(store, result)) == ["0", "1", "2", "3", "4", "later"]
    assert len({b.batch_id for b in first}) == 1
    assert [(b.part, b.parts) for b in first] == [(1, 0), (2, 0), (3, 0), (4, 4)]
    assert [(b.part, b.parts) for f in footers[4:] for b in f.batches] == [(1, 1)]


def test_a_baby_that_does_not_fit_splits_no_dataset_of_another_baby(
    store: ObjectStore, folder: Path
) -> None:
    put(store, 0, TokenPart(TOKEN, "logs", (logs("a"), logs("b"), logs("c")), ONE, 3, NOW, NOW))
    large = tuple(logs(str(number) * 30_000) for number in range(3))
    put(store, 1, TokenPart(TOKEN, "logs", large, TWO, 3, NOW, NOW))

    result = execute(task(1, ONE, TWO), store, Budget(1, 50_000), folder)

    assert [len(found.segments) for found in result.datasets] == [1, 2]
    assert sorted(bodies(store, result, 0)) == ["a", "b", "c"]
    assert sorted(text[0] for text in bodies(store, result, 1)) == ["0", "1", "2"]
