"""Segments without facts: listed until their content is recorded."""

import pytest

from meta.client import MetaClient
from meta.errors import InvalidArgument
from meta.v1 import operations_pb2 as pb
from meta.v1.common_pb2 import (
    FOREIGN_STATE_MAPPED,
    FOREIGN_STATE_UNREAD,
    FOREIGN_STATE_UNREADABLE,
    SIGNAL_LOGS,
    SIGNAL_TRACES,
    ForeignFile,
    SegmentFacts,
    SignalFacts,
    TimeRange,
)
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import EPOCH, WorkerDriver, Writer, segment_of


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.fixture
def writer(meta_client: MetaClient) -> Writer:
    return Writer(meta_client)


def facts_of(start: int = EPOCH, end: int = EPOCH + 99, events: int = 10) -> SegmentFacts:
    times = TimeRange(start_time=start, end_time=end)
    signal = SignalFacts(signal=SIGNAL_LOGS, number_of_events=events, time_range=times)
    return SegmentFacts(format_version=2, signals=[signal])


def list_unread(client: MetaClient, limit: int = 0) -> list[str]:
    ids: list[str] = []
    request = pb.ListUnreadSegmentsRequest(limit=limit)
    while True:
        reply = client.operations.ListUnreadSegments(request)
        ids += [segment.id for segment in reply.segments]
        if not reply.next_after_segment_id:
            return ids
        request.after_segment_id = reply.next_after_segment_id


def record(client: MetaClient, *segments: pb.ReadSegment) -> int:
    request = pb.SetSegmentFactsRequest(segments=segments)
    return client.operations.SetSegmentFacts(request).recorded


@pytest.mark.parametrize("limit", [1, 2, 4, 5, 0])
def test_segments_without_facts_are_listed_in_pages(
    writer: Writer, dataset: str, limit: int
) -> None:
    known = segment_of(dataset, EPOCH, EPOCH + 99)
    known.facts.CopyFrom(facts_of())
    writer.save(known)
    ids = [writer.save(segment_of(dataset))[0] for _ in range(4)]

    assert list_unread(writer.client, limit) == sorted(ids)


def test_recorded_facts_are_found_and_stay(writer: Writer, dataset: str) -> None:
    (segment_id,) = writer.save(segment_of(dataset, EPOCH, EPOCH + 99))
    read = pb.ReadSegment(segment_id=segment_id, facts=facts_of())
    changed = pb.ReadSegment(segment_id=segment_id)

    recorded = [record(writer.client, item) for item in (read, read, changed)]

    assert recorded == [1, 0, 0]
    assert list_unread(writer.client) == []
    (found,) = writer.find("web", signals=[SIGNAL_LOGS]).segments
    assert found.facts == facts_of()
    assert not writer.find("web", signals=[SIGNAL_TRACES]).segments


def test_a_tombstoned_segment_is_passed_over(writer: Writer, dataset: str) -> None:
    ids = writer.save_many(dataset, 8)
    worker = WorkerDriver(writer.client)
    worker.plan(min_age_secs=0, dataset_name="web")
    task = worker.poll()
    worker.complete(task.task_id, worker.output(task))

    (output,) = list_unread(writer.client)

    assert output not in ids
    assert record(writer.client, *(pb.ReadSegment(segment_id=item) for item in ids)) == 0


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(facts_of(events=9), id="other count"),
        pytest.param(facts_of(start=EPOCH + 1), id="other start"),
        pytest.param(facts_of(end=EPOCH + 98), id="other end"),
        pytest.param(SegmentFacts(format_version=2), id="no signal"),
        pytest.param(SegmentFacts(), id="no format"),
    ],
)
def test_facts_that_disagree_with_their_segment_are_refused(
    writer: Writer, dataset: str, facts: SegmentFacts
) -> None:
    (segment_id,) = writer.save(segment_of(dataset, EPOCH, EPOCH + 99))

    with pytest.raises(InvalidArgument, match=r"segments\[0\].facts"):
        record(writer.client, pb.ReadSegment(segment_id=segment_id, facts=facts))

    assert list_unread(writer.client) == [segment_id]


@pytest.mark.parametrize("is_beyond", [False, True])
def test_a_call_records_at_most_a_thousand_segments(
    writer: Writer, dataset: str, is_beyond: bool
) -> None:
    (segment_id,) = writer.save(segment_of(dataset))
    others = [f"00000000-0000-0000-0000-{n:012}" for n in range(999 + is_beyond)]
    read = [pb.ReadSegment(segment_id=item) for item in (segment_id, *others)]

    if is_beyond:
        with pytest.raises(InvalidArgument, match="1001 items"):
            record(writer.client, *read)
    else:
        assert record(writer.client, *read) == 1


def test_one_segment_is_named_once_in_a_call(writer: Writer, dataset: str) -> None:
    (segment_id,) = writer.save(segment_of(dataset))

    with pytest.raises(InvalidArgument, match="duplicate"):
        record(writer.client, *[pb.ReadSegment(segment_id=segment_id)] * 2)


def test_a_reason_has_a_length(writer: Writer, dataset: str) -> None:
    (segment_id,) = writer.save(segment_of(dataset))
    foreign = ForeignFile(state=FOREIGN_STATE_UNREADABLE, reason="x" * 1_001)

    with pytest.raises(InvalidArgument, match="1001 characters"):
        record(writer.client, pb.ReadSegment(segment_id=segment_id, foreign=foreign))
    foreign.reason = "x" * 1_000
    assert record(writer.client, pb.ReadSegment(segment_id=segment_id, foreign=foreign)) == 1
    (found,) = writer.find("web").segments
    assert found.foreign == foreign


@pytest.mark.parametrize(
    "read",
    [
        pb.ReadSegment(foreign=ForeignFile(state=FOREIGN_STATE_UNREADABLE)),
        pb.ReadSegment(foreign=ForeignFile(state=FOREIGN_STATE_MAPPED)),
        pb.ReadSegment(foreign=ForeignFile(state=FOREIGN_STATE_UNREAD, reason="why")),
        pb.ReadSegment(foreign=ForeignFile(reason="why")),
        pb.ReadSegment(facts=facts_of(), foreign=ForeignFile(state=FOREIGN_STATE_MAPPED)),
        pb.ReadSegment(
            facts=facts_of(), foreign=ForeignFile(state=FOREIGN_STATE_UNREADABLE, reason="why")
        ),
    ],
    ids=["no reason", "no facts", "unread", "no state", "facts of a format", "both"],
)
def test_a_state_that_makes_no_sense_is_refused(
    writer: Writer, dataset: str, read: pb.ReadSegment
) -> None:
    (read.segment_id,) = writer.save(segment_of(dataset, EPOCH, EPOCH + 99))

    with pytest.raises(InvalidArgument):
        record(writer.client, read)

    (found,) = writer.find("web").segments
    assert found.foreign == ForeignFile(state=FOREIGN_STATE_UNREAD)


def test_what_readers_skip_is_listed_in_pages_and_excluded_from_merges(
    writer: Writer, dataset: str
) -> None:
    ids = sorted(writer.save(segment_of(dataset))[0] for _ in range(3))
    foreign = ForeignFile(state=FOREIGN_STATE_UNREADABLE, reason="no Parquet")
    record(writer.client, *(pb.ReadSegment(segment_id=one, foreign=foreign) for one in ids[1:]))

    first = writer.client.operations.ListUnreadSegments(
        pb.ListUnreadSegmentsRequest(unreadable=True, limit=1)
    )
    rest = writer.client.operations.ListUnreadSegments(
        pb.ListUnreadSegmentsRequest(
            unreadable=True, limit=5, after_segment_id=first.next_after_segment_id
        )
    )

    assert [s.id for s in (*first.segments, *rest.segments)] == ids[1:]
    assert rest.next_after_segment_id == ""
    assert list_unread(writer.client) == ids[:1]
    request = pb.ReleaseSegmentRequest(segment_id=ids[1])
    assert writer.client.operations.ReleaseSegment(request).success
    assert list_unread(writer.client) == ids[:2]


def test_a_time_column_has_a_length(writer: Writer, dataset: str) -> None:
    settings = pb.DatasetSettings(foreign_files=pb.ForeignFileSettings(time_column="c" * 256))
    request = pb.SetDatasetSettingsRequest(dataset_id=dataset, settings=settings)

    with pytest.raises(InvalidArgument, match="256 characters"):
        writer.client.operations.SetDatasetSettings(request)
    request.settings.foreign_files.time_column = "c" * 255
    reply = writer.client.operations.SetDatasetSettings(request)
    assert reply.settings.foreign_files.time_column == "c" * 255
    writer.save(segment_of(dataset))
    (found,) = writer.find("web").segments
    assert found.foreign.time_column == "c" * 255
