"""Offset spans: contiguous baby segments of one stream, both ends inclusive."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias


@dataclass(frozen=True, slots=True, order=True)
class OffsetSpan:
    """The baby segments `start` to `end` of a stream, both inclusive."""

    stream_id: str
    start: int
    end: int

    @property
    def num_offsets(self) -> int:
        """The number of baby segments."""
        return self.end - self.start + 1


# Ranges whose schema violations were kept out of the rows, by verdict. Those of "" are
# baby segments of which a file holds a payload that was quarantined as a whole.
Quarantined: TypeAlias = tuple[tuple[str, tuple[OffsetSpan, ...]], ...]
_BOUNDS = attrgetter("stream_id", "start", "end")


def coalesce(spans: Iterable[OffsetSpan]) -> tuple[OffsetSpan, ...]:
    """Join spans of one stream that touch or overlap; the answer is sorted."""
    return _joined(map(_BOUNDS, spans))


def spans_of(stream_id: str, offsets: Iterable[int]) -> tuple[OffsetSpan, ...]:
    """The spans that some offsets of one stream make up; the answer is sorted."""
    return _joined((stream_id, offset, offset) for offset in offsets)


def spans_of_babies(babies: Iterable[tuple[str, int]]) -> tuple[OffsetSpan, ...]:
    """The spans that babies, by stream id and offset, make up; the answer is sorted."""
    return _joined((stream_id, offset, offset) for stream_id, offset in babies)


def babies_of(spans: Iterable[OffsetSpan]) -> Iterator[tuple[str, int]]:
    """The babies of spans, by stream id and offset."""
    return ((span.stream_id, o) for span in spans for o in range(span.start, span.end + 1))


def _joined(bounds: Iterable[tuple[str, int, int]]) -> tuple[OffsetSpan, ...]:
    """Join spans given as (stream id, start, end): a file may come from thousands of offsets."""
    joined: list[OffsetSpan] = []
    stream, first, last = "", 0, -1
    for stream_id, start, end in sorted(bounds):
        if first <= last and stream_id == stream and start <= last + 1:
            last = max(last, end)
            continue
        if first <= last:
            joined.append(OffsetSpan(stream, first, last))
        stream, first, last = stream_id, start, end
    if first <= last:
        joined.append(OffsetSpan(stream, first, last))
    return tuple(joined)
