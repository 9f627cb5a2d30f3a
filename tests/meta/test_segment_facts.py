"""Facts of a segment: stored as its writer told them, and used to leave segments out."""

from collections.abc import Callable, Sequence

import pytest

from meta.client import MetaClient
from meta.errors import CursorInvalid, InvalidArgument, KeyTaken
from meta.v1.common_pb2 import (
    SIGNAL_LOGS,
    SIGNAL_METRICS,
    SIGNAL_TRACES,
    CreateSegment,
    SegmentFacts,
    Signal,
    SignalFacts,
    TimeRange,
)
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import EPOCH, Writer, segment_of

pytestmark = pytest.mark.one_meta


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.fixture
def writer(meta_client: MetaClient) -> Writer:
    return Writer(meta_client)


def with_signals(
    dataset: str, *signals: Signal.ValueType, key: str = "", start: int = EPOCH
) -> CreateSegment:
    """A segment with ten records of each signal, the first at its start and the last at its end."""
    segment = segment_of(dataset, start, start + 99, key=key, events=10 * len(signals))
    segment.facts.format_version = 2
    segment.facts.promoted_field_ids.extend([1_000, 1_002])
    for signal in signals:
        times = TimeRange(start_time=start, end_time=start + 99)
        segment.facts.signals.append(
            SignalFacts(signal=signal, number_of_events=10, time_range=times)
        )
    return segment


@pytest.mark.one_meta(False)
def test_facts_are_returned_as_they_were_registered(writer: Writer, dataset: str) -> None:
    told = with_signals(dataset, SIGNAL_LOGS, SIGNAL_METRICS)

    (segment_id,) = writer.save(told)

    (by_id,), (found,) = writer.get(segment_id), writer.find("web").segments
    assert by_id.facts == told.facts
    # A page names the columns once, beside the segments.
    told.facts.ClearField("promoted_field_ids")
    assert found.facts == told.facts


def test_a_segment_without_facts_has_none(writer: Writer, dataset: str) -> None:
    (segment_id,) = writer.save(segment_of(dataset))

    (segment,) = writer.get(segment_id)

    assert not segment.HasField("facts")


@pytest.mark.one_meta(False)
def test_a_lookup_by_signal_skips_segments_known_to_have_none_of_it(
    writer: Writer, dataset: str
) -> None:
    logs, traces, both, unknown, unspecific = writer.save(
        with_signals(dataset, SIGNAL_LOGS, start=EPOCH),
        with_signals(dataset, SIGNAL_TRACES, start=EPOCH + 1),
        with_signals(dataset, SIGNAL_LOGS, SIGNAL_TRACES, start=EPOCH + 2),
        segment_of(dataset, EPOCH + 3),
        _without_signals(segment_of(dataset, EPOCH + 4)),
    )

    def found(*signals: Signal.ValueType) -> set[str]:
        return set(writer.find_ids("web", signals=signals))

    always = {unknown, unspecific}
    assert found() == {logs, traces, both, *always}
    assert found(SIGNAL_LOGS) == {logs, both, *always}
    assert found(SIGNAL_TRACES) == {traces, both, *always}
    assert found(SIGNAL_METRICS) == always
    assert found(SIGNAL_LOGS, SIGNAL_TRACES) == {logs, traces, both, *always}


@pytest.mark.one_meta(False)
def test_pages_of_one_signal_show_each_of_its_segments_once(writer: Writer, dataset: str) -> None:
    saved = [
        writer.save(with_signals(dataset, (SIGNAL_LOGS, SIGNAL_TRACES)[n % 2], start=EPOCH + n))[0]
        for n in range(9)
    ]

    assert writer.find_ids("web", signals=[SIGNAL_LOGS], limit=2) == saved[::2]


def test_a_cursor_belongs_to_the_signals_it_was_made_for(writer: Writer, dataset: str) -> None:
    for n in range(3):
        writer.save(with_signals(dataset, SIGNAL_LOGS, start=EPOCH + n))
    cursor = writer.find("web", signals=[SIGNAL_LOGS], limit=1).page.next_cursor

    for signals in ([], [SIGNAL_TRACES]):
        with pytest.raises(CursorInvalid):
            writer.find("web", signals=signals, cursor=cursor)


@pytest.mark.parametrize("is_known_first", [True, False])
def test_absent_facts_are_equal_to_any(writer: Writer, dataset: str, is_known_first: bool) -> None:
    known, unknown = (with_signals(dataset, SIGNAL_LOGS, key="a.parquet") for _ in range(2))
    unknown.ClearField("facts")
    calls = [known, unknown] if is_known_first else [unknown, known]

    first, second = (writer.save(segment) for segment in calls)

    assert first == second


@pytest.mark.one_meta(False)
def test_other_facts_of_one_object_are_refused(writer: Writer, dataset: str) -> None:
    writer.save(with_signals(dataset, SIGNAL_LOGS, key="a.parquet"))

    with pytest.raises(KeyTaken):
        writer.save(with_signals(dataset, SIGNAL_TRACES, key="a.parquet"))


def _without_signals(segment: CreateSegment) -> CreateSegment:
    segment.facts.CopyFrom(SegmentFacts(format_version=1))
    return segment


def _change(path: str, value: int) -> Callable[[CreateSegment], None]:
    def change(segment: CreateSegment) -> None:
        item = segment.facts.signals[0]
        owner = {"facts": segment.facts, "signal": item, "time": item.time_range}
        name, field = path.split(".")
        setattr(owner[name], field, value)

    return change


def _field_ids(*ids: int) -> Callable[[CreateSegment], None]:
    def change(segment: CreateSegment) -> None:
        del segment.facts.promoted_field_ids[:]
        segment.facts.promoted_field_ids.extend(ids)

    return change


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_change("facts.format_version", 0), id="no format"),
        pytest.param(_change("signal.signal", 0), id="no signal"),
        pytest.param(_change("signal.signal", 15), id="a signal beyond the mask"),
        pytest.param(_change("signal.signal", SIGNAL_METRICS), id="signals out of order"),
        pytest.param(_change("signal.signal", SIGNAL_TRACES), id="a signal twice"),
        pytest.param(_change("signal.number_of_events", 9), id="too few records"),
        pytest.param(_change("signal.number_of_events", 0), id="a signal without records"),
        pytest.param(_change("time.start_time", EPOCH - 1), id="before the segment"),
        pytest.param(_change("time.end_time", EPOCH + 100), id="after the segment"),
        pytest.param(_change("time.end_time", EPOCH - 1), id="an end before its start"),
        pytest.param(_field_ids(1_002, 1_000), id="field ids out of order"),
        pytest.param(_field_ids(1_000, 1_000), id="a field id twice"),
        pytest.param(_field_ids(0), id="no field id"),
        pytest.param(_field_ids(*range(1_000, 3_208, 2)), id="too many field ids"),
    ],
)
def test_facts_that_disagree_are_refused(
    writer: Writer, dataset: str, change: Callable[[CreateSegment], None]
) -> None:
    segment = with_signals(dataset, SIGNAL_LOGS, SIGNAL_TRACES)
    change(segment)

    with pytest.raises(InvalidArgument, match="facts"):
        writer.save(segment)


@pytest.mark.parametrize("signals", [[0], [15], [SIGNAL_LOGS] * 15])
def test_a_lookup_of_no_signal_is_refused(
    writer: Writer, dataset: str, signals: Sequence[int]
) -> None:
    with pytest.raises(InvalidArgument, match="signals"):
        writer.find("web", signals=signals)
