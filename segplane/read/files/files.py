"""The files of a dataset at a version: FindSegments, page by page."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from meta.client import MetaClient, location
from meta.v1 import common_pb2
from meta.v1 import segment_lookup_pb2 as pb
from segments.facts.feature import NO_FACTS, Facts
from segments.foreign.origin import FileOrigin, RegisteredFile
from segments.location import StoreLocation
from segments.signals import SIGNALS, TRAITS, Signal
from segments.token_index.place import IndexedSpan
from segplane.read.bounds import NANOS_MAX, NANOS_MIN, TimeBounds
from segplane.read.errors import ReadError
from segplane.read.lookup import find_pages, object_key, segment_url

_PAGE = 10_000
_NAMES: dict[int, Signal] = {int(TRAITS[signal].kind): signal for signal in SIGNALS}


_ORIGINS = {
    common_pb2.FOREIGN_STATE_UNREAD: FileOrigin.UNREAD,
    common_pb2.FOREIGN_STATE_MAPPED: FileOrigin.MAPPED,
    common_pb2.FOREIGN_STATE_UNREADABLE: FileOrigin.UNREADABLE,
}


@dataclass(frozen=True, slots=True)
class ForeignMark:
    """A file that a client registered without the facts of its content, at a version.

    `reason` is why it is skipped, "" if it is not.
    """

    origin: FileOrigin
    registered: RegisteredFile
    version: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DatasetFile:
    """A segment and its file.

    `start_time` and `end_time` bound its event times in nanoseconds, both inclusive; of one signal
    if the reader asked for one. `signals` and `format_version` are None if meta does not know them,
    and so is `promoted`, the columns that the file has in addition to the format's. `signal_rows`
    are the rows of each of `signals`.
    """

    segment_id: str
    url: str
    store: StoreLocation
    key: str
    start_time: int
    end_time: int
    rows: int
    size_bytes: int
    signals: tuple[Signal, ...] | None
    format_version: int | None
    promoted: tuple[common_pb2.PromotedColumn, ...] | None
    # None for a segment.
    foreign: ForeignMark | None = None
    written: Facts = NO_FACTS
    # Spans of rows that may have the terms of a query, in their order; None = all.
    spans: tuple[IndexedSpan, ...] | None = None
    num_spans_left_out: int = 0
    signal_rows: tuple[int, ...] = ()

    def rows_of(self, signal: Signal) -> int:
        """Return the number of rows of a signal, 0 if that is not known."""
        return dict(zip(self.signals or (), self.signal_rows, strict=False)).get(signal, 0)

    def may_have(self, signal: Signal) -> bool:
        """Return whether the file may have rows of a signal."""
        return self.signals is None or signal in self.signals


def signals_of(signal: str | None) -> tuple[Signal, ...]:
    """Return the signals that a reader asks for, None = all; raises ReadError."""
    if signal is None:
        return SIGNALS
    for name in SIGNALS:
        if name == signal:
            return (name,)
    raise ReadError(f"signal is {signal!r}, expected one of {', '.join(SIGNALS)}")


def find_files(
    client: MetaClient,
    dataset_name: str,
    version: int,
    signals: tuple[Signal, ...],
    bounds: TimeBounds,
) -> tuple[DatasetFile, ...]:
    """List the files that may hold such records; raises MetaError."""
    request = pb.FindSegmentsRequest(
        dataset_names=[dataset_name],
        as_of_version=version,
        limit=_PAGE,
        time_range=bounds.time_range(),
    )
    if signals != SIGNALS:
        request.signals.extend(common_pb2.Signal.ValueType(TRAITS[s].kind) for s in signals)
    return tuple(_overlapping(find_pages(client, request), signals, bounds))


def newest_files(files: Sequence[DatasetFile], limit: int) -> tuple[DatasetFile, ...]:
    """Return the files whose time bounds can hold one of the `limit` newest rows of a signal.

    Rows of the files that begin last are counted until there are enough: files that end before them
    have none of the newest. A file of others counts for none, since it may be skipped.
    """
    newest = {file.segment_id for signal in SIGNALS for file in _newest_of(signal, files, limit)}
    return tuple(file for file in files if file.segment_id in newest)


def _newest_of(signal: Signal, files: Sequence[DatasetFile], limit: int) -> Iterable[DatasetFile]:
    having = [file for file in files if file.may_have(signal)]
    rows = 0
    for file in sorted(having, key=lambda file: -file.start_time):
        rows += 0 if file.foreign is not None else file.rows_of(signal)
        if rows >= limit:
            return (other for other in having if other.end_time >= file.start_time)
    return having


def _overlapping(
    pages: Iterable[pb.FindSegmentsResponse], signals: tuple[Signal, ...], bounds: TimeBounds
) -> Iterator[DatasetFile]:
    for page in pages:
        layouts = [tuple(layout.promoted_columns) for layout in page.layouts]
        for segment in page.segments:
            file = file_of(segment, layouts, signals)
            if bounds.overlap(file.start_time, file.end_time):
                yield file


def file_of(
    segment: common_pb2.SegmentInfo,
    layouts: Sequence[tuple[common_pb2.PromotedColumn, ...]],
    signals: tuple[Signal, ...],
) -> DatasetFile:
    """Return a segment as a file; `layouts` are those of its page."""
    times, rows, present = segment.time_range, segment.number_of_events, None
    counts: tuple[int, ...] = ()
    if segment.HasField("facts"):
        facts = {_NAMES[f.signal]: f for f in segment.facts.signals if f.signal in _NAMES}
        present, counts = tuple(facts), tuple(f.number_of_events for f in facts.values())
        stored = [facts[signal] for signal in signals if signal in facts]
        if stored and len(signals) == 1:
            times, rows = stored[0].time_range, stored[0].number_of_events
    return DatasetFile(
        segment.id,
        segment_url(segment),
        location(segment.cloud_object_key.prefix.bucket),
        object_key(segment),
        times.start_time,
        times.end_time,
        rows,
        segment.compressed_size_bytes,
        present,
        segment.facts.format_version if segment.HasField("facts") else None,
        layouts[segment.layout] if segment.HasField("layout") else None,
        _mark(segment),
        Facts(segment.written_facts.SerializeToString()),
        signal_rows=counts,
    )


def _mark(segment: common_pb2.SegmentInfo) -> ForeignMark | None:
    """Return what meta knows of a file of others; a footer that was read as ours decides."""
    origin = _ORIGINS.get(segment.foreign.state)
    if origin is None or segment.facts.format_version:
        return None
    times = segment.time_range
    registered = RegisteredFile(
        segment.id,
        segment.dataset_id,
        segment.number_of_events,
        times.start_time,
        times.end_time,
        segment.foreign.time_column,
    )
    return ForeignMark(origin, registered, segment.created_version, segment.foreign.reason)


def check_adjusted(name: str, files: Iterable[DatasetFile], nanos: int) -> None:
    """Raise ReadError if a time of a file with its adjustment is beyond 64 bits."""
    for file in files if nanos else ():
        if file.start_time + nanos < NANOS_MIN or file.end_time + nanos > NANOS_MAX:
            raise ReadError(
                f"dataset {name!r} has times that its time adjustment of {nanos} ns moves beyond 64"
                " bits of nanoseconds (1677 to 2262): ask for less time, or read the times as they"
                " are stored"
            )
