"""New segments: what is taken at first sight is what the check field by field makes of it."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meta.errors import InvalidArgument
from meta.services.messages import checks, convert
from meta.services.registration import registration_checks
from meta.v1.common_pb2 import SIGNAL_LOGS, CreateSegment, SignalFacts, TimeRange
from segments.location import StoreLocation
from segments.named_stores import Stores
from tests.support.meta.segments import EPOCH, segment_of

LOCATION = StoreLocation.from_url("s3://bucket/some/path?region=here")
STORES = Stores(LOCATION)
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


@given(st.lists(CHANGES, max_size=3))
def test_first_sight_takes_nothing_that_the_fields_refuse(changes: list[Change]) -> None:
    segment = plain()
    for change in changes:
        change(segment)

    seen = registration_checks.at_first_sight(STORES, segment)

    if seen is not None:
        assert seen == convert.new_segment(STORES, segment, "segment")


def test_segments_as_writers_send_them_are_taken_at_first_sight() -> None:
    bare = segment_of(DATASET)
    with_bucket = plain()
    with_bucket.cloud_object_key.prefix.bucket.CopyFrom(convert.bucket(LOCATION))

    for segment in (bare, plain(), with_bucket):
        assert registration_checks.at_first_sight(STORES, segment) is not None


def test_a_segment_that_first_sight_does_not_take_is_refused_by_its_field() -> None:
    segment = plain()
    segment.size_bytes = checks.SIZE_BYTES_MAX + 1

    with pytest.raises(InvalidArgument) as caught:
        registration_checks.new_segment(STORES, segment, "more_segments[3]")

    assert caught.value.field == "more_segments[3].size_bytes"
