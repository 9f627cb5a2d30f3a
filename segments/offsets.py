"""Offset spans: contiguous baby segments of one stream, both ends inclusive."""

from collections.abc import Iterable
from dataclasses import dataclass, replace


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


def coalesce(spans: Iterable[OffsetSpan]) -> tuple[OffsetSpan, ...]:
    """Join spans of one stream that touch or overlap; the answer is sorted."""
    joined: list[OffsetSpan] = []
    for span in sorted(spans):
        last = joined[-1] if joined else None
        if last and last.stream_id == span.stream_id and span.start <= last.end + 1:
            joined[-1] = replace(last, end=max(last.end, span.end))
        else:
            joined.append(span)
    return tuple(joined)


def spans_of(stream_id: str, offsets: Iterable[int]) -> tuple[OffsetSpan, ...]:
    """The spans that some offsets of one stream make up; the answer is sorted."""
    return coalesce(OffsetSpan(stream_id, offset, offset) for offset in offsets)
