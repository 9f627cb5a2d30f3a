"""New segments: rows of accepted messages, and the fields that refusals name."""

from collections.abc import Callable
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meta.errors import InvalidArgument
from meta.services.messages import checks, convert, segment_facts
from meta.store.segments.segments import NewSegment
from meta.v1.common_pb2 import (
    SIGNAL_LOGS,
    SIGNAL_TRACES,
    CloudBucket,
    CreateSegment,
    SegmentFacts,
    SignalFacts,
    TimeRange,
)
from segments.keys import KEY_BYTES_MAX
from segments.location import StoreLocation, Stores, parse_named_stores
from tests.support.meta.segments import EPOCH, segment_of

LOCATION = StoreLocation.from_url("s3://bucket/some/path?region=here")
STORES = Stores(LOCATION)
NAMED_STORES = Stores(LOCATION, parse_named_stores("cold=s3://cold"))
DATASET = "0a1b2c3d-0000-7000-8000-0123456789ab"
INT64 = st.sampled_from([-1, 0, 1, 10, EPOCH, EPOCH + 99, 2**31, 2**43, 2**43 + 1, 2**63 - 1])
TEXT = st.sampled_from(
    ["", "a.parquet", "/a", "a/", "a//b", "..", ".a", "a\n", "a" * 255, "a" * 256, "ä", DATASET]
) | st.text(max_size=5)
Change = Callable[[CreateSegment], None]


def plain() -> CreateSegment:
    """A segment as writers send it."""
    segment = segment_of(DATASET, EPOCH, EPOCH + 99, key=f"{uuid4()}.parquet")
    segment.facts.format_version = 2
    segment.facts.promoted_field_ids.extend([1_000, 1_002])
    segment.facts.signals.append(signal(SIGNAL_LOGS, 10, EPOCH, EPOCH + 99))
    segment.crc32c = 7
    return segment


def signal(number: int, events: int, start: int, end: int) -> SignalFacts:
    times = TimeRange(start_time=start, end_time=end)
    return SignalFacts(signal=number, number_of_events=events, time_range=times)  # type: ignore[arg-type]


def setting(field: str, values: st.SearchStrategy[object]) -> st.SearchStrategy[Change]:
    """Changes of one field to one of some values; "a.b" is a field of a message."""
    path, _, name = field.rpartition(".")

    def change(segment: CreateSegment, value: object) -> None:
        message = segment
        for part in filter(None, path.split(".")):
            message = getattr(message, part)
        setattr(message, name, value)

    return values.map(lambda value: lambda segment: change(segment, value))


def clearing(*fields: str) -> st.SearchStrategy[Change]:
    return st.sampled_from(fields).map(lambda field: lambda s: s.ClearField(field))


SIGNALS = st.builds(signal, st.integers(-1, 16), st.sampled_from([-1, 0, 10]), INT64, INT64)
CHANGES = st.one_of(
    *(
        setting(field, INT64)
        for field in (
            "size_bytes",
            "compressed_size_bytes",
            "time_range.start_time",
            "time_range.end_time",
        )
    ),
    setting("number_of_events", st.sampled_from([-1, 0, 10, 20, 2**31 - 1])),
    setting("crc32c", st.integers(0, 2**32 - 1)),
    setting("dataset_id", TEXT | st.sampled_from([DATASET.upper(), str(uuid4())])),
    setting("cloud_object_key.key", TEXT),
    setting("cloud_object_key.prefix.prefix", TEXT.map(lambda t: f"dataset/{DATASET}/merged{t}")),
    setting("cloud_object_key.prefix.bucket.bucket", st.sampled_from(["bucket", "other", ""])),
    setting("facts.format_version", st.sampled_from([0, 1, 200, 2**15])),
    clearing("time_range", "cloud_object_key", "facts", "crc32c", "number_of_events"),
    st.lists(st.integers(-1, 1_005), max_size=3).map(
        lambda ids: lambda s: s.facts.promoted_field_ids.extend(ids)
    ),
    st.lists(SIGNALS, max_size=2).map(lambda more: lambda s: s.facts.signals.extend(more)),
    st.just(lambda s: s.facts.ClearField("signals")),
    st.just(lambda s: s.cloud_object_key.prefix.bucket.CopyFrom(convert.bucket(LOCATION))),
)


def row_or_refusal(segment: CreateSegment) -> NewSegment | InvalidArgument:
    try:
        return convert.new_segment(STORES, segment, "segments[3]")
    except InvalidArgument as refusal:
        return refusal


@given(st.lists(CHANGES, max_size=3))
def test_a_row_is_what_the_message_says_and_a_refusal_names_one_of_its_fields(
    changes: list[Change],
) -> None:
    segment = plain()
    for change in changes:
        change(segment)

    row = row_or_refusal(segment)

    if isinstance(row, InvalidArgument):
        assert row.field.startswith("segments[3].")
        return
    facts, times = segment.facts, segment.time_range
    assert row.dataset_id == UUID(segment.dataset_id)
    assert row.object_key == f"{row.prefix}/{row.object_name}"
    assert row.object_key.startswith(f"dataset/{row.dataset_id}/merged/")
    assert (row.start_ns, row.end_ns) == (times.start_time, times.end_time)
    assert 0 <= row.start_ns <= row.end_ns
    sizes = row.size_bytes, row.compressed_size_bytes
    assert sizes == (segment.size_bytes, segment.compressed_size_bytes)
    assert 0 <= min(sizes) <= max(sizes) <= checks.SIZE_BYTES_MAX
    assert 0 <= row.number_of_events == segment.number_of_events <= checks.EVENTS_MAX
    assert row.crc32c == (segment.crc32c if segment.HasField("crc32c") else None)
    assert row.promoted_field_ids == tuple(facts.promoted_field_ids)
    if not segment.HasField("facts"):
        assert (row.facts, row.signals, row.format_version) == (None, None, None)
        return
    assert SegmentFacts.FromString(row.facts or b"") == facts
    assert row.format_version == facts.format_version
    assert row.signals == (sum(1 << item.signal for item in facts.signals) or None)
    if facts.signals:
        assert sum(item.number_of_events for item in facts.signals) == row.number_of_events
        assert min(item.time_range.start_time for item in facts.signals) == row.start_ns
        assert max(item.time_range.end_time for item in facts.signals) == row.end_ns


def set_to(field: str, value: object) -> Change:
    """The change of one field, by its path."""

    def change(segment: CreateSegment) -> None:
        *path, name = field.split(".")
        message = segment
        for part in path:
            message = getattr(message, part)
        setattr(message, name, value)

    return change


def cleared(field: str) -> Change:
    return lambda segment: segment.ClearField(field)  # type: ignore[arg-type]


def with_ids(*ids: int) -> Change:
    def change(segment: CreateSegment) -> None:
        segment.facts.promoted_field_ids[:] = ids

    return change


def with_signals(*signals: SignalFacts) -> Change:
    def change(segment: CreateSegment) -> None:
        segment.facts.ClearField("signals")
        segment.facts.signals.extend(signals)

    return change


def in_bucket(**fields: str) -> Change:
    def change(segment: CreateSegment) -> None:
        segment.cloud_object_key.prefix.bucket.CopyFrom(CloudBucket(**fields))

    return change


PREFIX = f"dataset/{DATASET}/merged"
KEY_FIELD = "cloud_object_key"
WHOLE = (EPOCH, EPOCH + 99)
FIRST_HALF, SECOND_HALF = (EPOCH, EPOCH + 50), (EPOCH + 51, EPOCH + 99)


@pytest.mark.parametrize(
    "change",
    [
        set_to("dataset_id", DATASET.upper()),
        set_to("dataset_id", UUID(DATASET).urn),
        set_to("size_bytes", checks.SIZE_BYTES_MAX),
        set_to("compressed_size_bytes", 0),
        cleared("crc32c"),
        cleared("facts"),
        set_to("facts.format_version", segment_facts.FORMAT_MAX),
        with_ids(),
        with_ids(*range(1, segment_facts.FIELD_IDS_MAX + 1)),
        with_signals(),
        with_signals(signal(segment_facts.SIGNAL_MAX, 10, *WHOLE)),
        with_signals(signal(SIGNAL_LOGS, 1, *FIRST_HALF), signal(SIGNAL_TRACES, 9, *SECOND_HALF)),
        set_to("cloud_object_key.key", "day/a.parquet"),
        set_to("cloud_object_key.key", "a" * 255),
        set_to("cloud_object_key.prefix.prefix", f"/{PREFIX}/"),
        set_to("cloud_object_key.prefix.prefix", f"{PREFIX}/store-cold"),
        in_bucket(),
        in_bucket(bucket="bucket", path="/some/path/"),
    ],
)
def test_boundaries_of_each_rule_are_accepted(change: Change) -> None:
    segment = plain()
    change(segment)

    convert.new_segment(NAMED_STORES, segment, "segment")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (set_to("dataset_id", ""), "dataset_id"),
        (set_to("dataset_id", DATASET[1:]), "dataset_id"),
        (cleared("time_range"), "time_range"),
        (set_to("time_range.start_time", EPOCH + 100), "time_range"),
        (set_to("time_range.start_time", -1), "time_range.start_time"),
        (set_to("size_bytes", -1), "size_bytes"),
        (set_to("size_bytes", checks.SIZE_BYTES_MAX + 1), "size_bytes"),
        (set_to("compressed_size_bytes", checks.SIZE_BYTES_MAX + 1), "compressed_size_bytes"),
        (set_to("facts.format_version", 0), "facts.format_version"),
        (
            set_to("facts.format_version", segment_facts.FORMAT_MAX + 1),
            "facts.format_version",
        ),
        (with_ids(0), "facts.promoted_field_ids"),
        (with_ids(2, 2), "facts.promoted_field_ids"),
        (with_ids(*range(1, segment_facts.FIELD_IDS_MAX + 2)), "facts.promoted_field_ids"),
        (with_signals(signal(0, 10, *WHOLE)), "facts.signals"),
        (with_signals(signal(segment_facts.SIGNAL_MAX + 1, 10, *WHOLE)), "facts.signals"),
        (with_signals(signal(2, 5, *WHOLE), signal(1, 5, *WHOLE)), "facts.signals"),
        (with_signals(signal(1, 5, *WHOLE), signal(1, 5, *WHOLE)), "facts.signals"),
        (with_signals(signal(1, 0, *WHOLE)), "facts.signals[0].number_of_events"),
        (with_signals(signal(1, 10, EPOCH, EPOCH - 1)), "facts.signals[0].time_range"),
        (with_signals(signal(1, 9, *WHOLE)), "facts.signals"),
        (with_signals(signal(1, 10, *FIRST_HALF)), "facts.signals"),
        (with_signals(signal(1, 10, *SECOND_HALF)), "facts.signals"),
        (set_to("number_of_events", 11), "facts.signals"),
        (cleared("cloud_object_key"), f"{KEY_FIELD}.key"),
        (set_to("cloud_object_key.key", "a//b"), KEY_FIELD),
        (set_to("cloud_object_key.key", ".."), KEY_FIELD),
        (set_to("cloud_object_key.key", "a\n"), KEY_FIELD),
        (set_to("cloud_object_key.key", "a\x9f"), KEY_FIELD),
        (set_to("cloud_object_key.key", "a" * 256), KEY_FIELD),
        (set_to("cloud_object_key.key", "a/" * (KEY_BYTES_MAX // 2) + "a"), KEY_FIELD),
        (set_to("cloud_object_key.prefix.prefix", f"dataset/{uuid4()}/merged"), KEY_FIELD),
        (set_to("cloud_object_key.prefix.prefix", PREFIX[:-1]), KEY_FIELD),
        (set_to("cloud_object_key.prefix.prefix", f"{PREFIX}/store-warm"), KEY_FIELD),
        (in_bucket(bucket="other"), f"{KEY_FIELD}.prefix.bucket.bucket"),
        (in_bucket(bucket="bucket", path="other"), f"{KEY_FIELD}.prefix.bucket.path"),
    ],
)
def test_a_broken_rule_is_refused_by_its_field(change: Change, field: str) -> None:
    segment = plain()
    change(segment)

    with pytest.raises(InvalidArgument) as caught:
        convert.new_segment(NAMED_STORES, segment, "more_segments[3]")

    assert caught.value.field == f"more_segments[3].{field}"


def test_the_number_of_events_is_not_a_negative_number() -> None:
    segment = plain()
    segment.ClearField("facts")
    segment.number_of_events = checks.EVENTS_MAX
    assert convert.new_segment(STORES, segment, "segment").number_of_events == checks.EVENTS_MAX

    segment.number_of_events = -1

    with pytest.raises(InvalidArgument) as caught:
        convert.new_segment(STORES, segment, "segment")
    assert caught.value.field == "segment.number_of_events"
