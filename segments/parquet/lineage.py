"""Lineage in a segment's footer: parts of nursery batches, by day, and offset ranges."""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from segments.errors import SegmentsError
from segments.offsets import OffsetSpan, Quarantined, coalesce

# A footer is read whole by every query; lineage of this size means a plan without bounds.
LINEAGE_BYTES_MAX = 16 * 1024 * 1024
DAY_NANOS = 86_400_000_000_000
# The UTC days since 1970 that 64 bits of nanoseconds reach.
DAY_MIN = -(2**63) // DAY_NANOS
DAY_MAX = (2**63 - 1) // DAY_NANOS

# A packed batch or range is shorter.
_ENTRY_BYTES_MAX = 128


class LineageTooLarge(SegmentsError):
    """A file would come from more batches and offset ranges than its footer may name."""


@dataclass(frozen=True, slots=True, order=True)
class BatchPart:
    """One of the files that one nursery batch wrote for a dataset, or some days of it.

    `part` counts from 1; `parts`, the number of them, is known to the last part only, else 0. Days
    are UTC days since 1970, both ends inclusive. A merge that is divided by day leaves each output
    the days that are its own, whether the part has records of them or not.
    """

    batch_id: str
    part: int
    parts: int = 0
    first_day: int = DAY_MIN
    last_day: int = DAY_MAX

    @property
    def is_whole(self) -> bool:
        """Whether it is all days of the part."""
        return (self.first_day, self.last_day) == (DAY_MIN, DAY_MAX)


def day_of(nanos: int) -> int:
    """Return the UTC day since 1970 of a time."""
    return nanos // DAY_NANOS


def joined(batches: Iterable[BatchPart]) -> tuple[BatchPart, ...]:
    """Sort batch parts; those of one part whose days adjoin become one."""
    result: list[BatchPart] = []
    for batch in sorted(set(batches)):
        last = result[-1] if result else None
        is_next = last is not None and (last.batch_id, last.part) == (batch.batch_id, batch.part)
        if last is not None and is_next and batch.first_day <= last.last_day + 1:
            result[-1] = replace(last, last_day=max(last.last_day, batch.last_day))
        else:
            result.append(batch)
    return tuple(result)


def of_days(batches: Iterable[BatchPart], first_day: int, last_day: int) -> tuple[BatchPart, ...]:
    """Cut batch parts to some days; those without any of the days are skipped."""
    cut = (
        replace(
            batch,
            first_day=max(batch.first_day, first_day),
            last_day=min(batch.last_day, last_day),
        )
        for batch in batches
    )
    return tuple(batch for batch in cut if batch.first_day <= batch.last_day)


def check_size(batches: Sequence[BatchPart], ranges: Sequence[OffsetSpan]) -> None:
    """Raise LineageTooLarge for more than a footer may name."""
    if _ENTRY_BYTES_MAX * (len(batches) + len(ranges)) > LINEAGE_BYTES_MAX:
        pack(batches, ranges)


def quarantined_of(verdicts: Mapping[str, str], ranges: Iterable[OffsetSpan]) -> Quarantined:
    """Return the ranges of streams with a verdict, by verdict."""
    return joined_quarantined(
        (verdicts[item.stream_id], (item,)) for item in ranges if item.stream_id in verdicts
    )


def joined_quarantined(
    quarantined: Iterable[tuple[str, tuple[OffsetSpan, ...]]],
) -> Quarantined:
    """Join the ranges of each verdict."""
    by_verdict: dict[str, list[OffsetSpan]] = {}
    for verdict, ranges in quarantined:
        by_verdict.setdefault(verdict, []).extend(ranges)
    return tuple((verdict, coalesce(by_verdict[verdict])) for verdict in sorted(by_verdict))


def pack(batches: Sequence[BatchPart], ranges: Sequence[OffsetSpan]) -> bytes:
    """Pack batches and ranges: ranges by stream, as [start, length, gap, length, ...]."""
    packed = _pack([[_entry(b) for b in batches], _steps(ranges)])
    if len(packed) > LINEAGE_BYTES_MAX:
        raise LineageTooLarge(
            f"{len(batches)} batches and {len(ranges)} offset ranges pack to "
            f"{len(packed)} bytes, more than {LINEAGE_BYTES_MAX}: merge fewer segments"
        )
    return packed


def unpack(packed: bytes) -> tuple[tuple[BatchPart, ...], tuple[OffsetSpan, ...]]:
    """Read packed lineage; raises ValueError, TypeError, binascii.Error or zlib.error."""
    batches, streams = _unpack(packed)
    return tuple(BatchPart(*item) for item in batches), _ranges(streams)


def pack_quarantined(quarantined: Quarantined) -> bytes:
    """Pack ranges by verdict."""
    return _pack({verdict: _steps(ranges) for verdict, ranges in quarantined})


def unpack_quarantined(packed: bytes) -> Quarantined:
    """Read packed ranges by verdict; raises as `unpack`."""
    return tuple((verdict, _ranges(streams)) for verdict, streams in _unpack(packed).items())


def _pack(content: object) -> bytes:
    text = json.dumps(content, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9))


def _unpack(packed: bytes) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(packed, validate=True)))


def _steps(ranges: Iterable[OffsetSpan]) -> dict[str, list[int]]:
    by_stream: dict[str, list[int]] = {}
    position = 0
    for item in coalesce(ranges):
        if item.stream_id not in by_stream:
            position = 0
        steps = item.start - position, item.end - item.start
        by_stream.setdefault(item.stream_id, []).extend(steps)
        position = item.end
    return by_stream


def _ranges(streams: Mapping[str, Sequence[int]]) -> tuple[OffsetSpan, ...]:
    ranges: list[OffsetSpan] = []
    for stream_id, steps in streams.items():
        position = 0
        for gap, length in zip(steps[::2], steps[1::2], strict=True):
            ranges.append(OffsetSpan(stream_id, position + gap, position + gap + length))
            position = ranges[-1].end
    return tuple(ranges)


def _entry(batch: BatchPart) -> list[str | int]:
    entry: list[str | int] = [batch.batch_id, batch.part, batch.parts]
    return entry if batch.is_whole else [*entry, batch.first_day, batch.last_day]
