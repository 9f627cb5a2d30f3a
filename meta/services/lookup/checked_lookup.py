"""Checked requests of FindSegments, and the cursors of its pages."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from meta.services.messages import checks, cursors, segment_facts
from meta.store.lookup import lookup
from meta.store.lookup.lookup import Position
from meta.v1 import segment_lookup_pb2

PAGE_DEFAULT = 1_000
PAGE_MAX = 10_000
NAMES_MAX = 10_000
# Version, second of the first page, position.
_CURSOR = struct.Struct(">qqihq16s")


@dataclass(frozen=True, slots=True)
class LookupCursor:
    """Position after a page: its version, the second of the first page, its last segment."""

    version: int
    began_secs: int
    position: Position


@dataclass(frozen=True, slots=True)
class CheckedLookup:
    """A checked FindSegmentsRequest."""

    start_ns: int
    last_ns: int
    names: tuple[str, ...]
    limit: int
    as_of: int | None
    min_version: int
    signals: int | None
    cursor: LookupCursor | None

    @classmethod
    def of(cls, request: segment_lookup_pb2.FindSegmentsRequest) -> "CheckedLookup":
        """Check a request. Raises InvalidArgument or CursorInvalid."""
        start_ns, last_ns = lookup.INT64_MIN, lookup.INT64_MAX
        if request.HasField("time_range"):
            start_ns, end_ns = checks.half_open_range(request.time_range, "time_range")
            last_ns = end_ns - 1
        checks.at_most(request.dataset_names, "dataset_names", NAMES_MAX)
        names = {
            checks.name(name, f"dataset_names[{index}]")
            for index, name in enumerate(request.dataset_names)
        }
        as_of = checks.count(request.as_of_version, "as_of_version")
        checked = cls(
            start_ns=start_ns,
            last_ns=last_ns,
            names=tuple(sorted(names)),
            limit=checks.limit(request.limit, default=PAGE_DEFAULT, most=PAGE_MAX),
            as_of=as_of if request.HasField("as_of_version") else None,
            min_version=checks.count(request.min_version, "min_version"),
            signals=_signal_mask(request.signals),
            cursor=None,
        )
        if not request.cursor:
            return checked
        return replace(checked, cursor=checked.decode(request.cursor))

    @property
    def latest_ns(self) -> int:
        """The latest start of segments that are asked for; INT64_MAX without an end of the range.

        `last_ns` itself is part of cursors, which other servers made.
        """
        is_open = self.last_ns == lookup.INT64_MAX - 1
        return lookup.INT64_MAX if is_open else self.last_ns

    def encode(self, cursor: LookupCursor) -> str:
        """The cursor as opaque text, bound to the filter."""
        position = cursor.position
        packed = _CURSOR.pack(
            cursor.version,
            cursor.began_secs,
            position.dataset_key,
            position.dur_class,
            position.start_ns,
            position.segment_id.bytes,
        )
        return cursors.encode(packed, self._bound_to(packed))

    def decode(self, text: str) -> LookupCursor:
        """Decode a cursor. Raises CursorInvalid for the cursor of another filter."""
        packed = cursors.decode(text, _CURSOR.size, self._bound_to, "cursor")
        version, began, key, dur_class, start_ns, segment_id = _CURSOR.unpack(packed)
        position = Position(key, dur_class, start_ns, UUID(bytes=segment_id))
        return LookupCursor(version, began, position)

    def _bound_to(self, packed: bytes) -> bytes:
        bound: tuple[object, ...] = (self.start_ns, self.last_ns, self.names)
        # Cursors of servers that know no signals stay valid.
        if self.signals is not None:
            bound = (*bound, self.signals)
        return packed + repr(bound).encode()


def _signal_mask(signals: Sequence[int]) -> int | None:
    checks.at_most(signals, "signals", segment_facts.SIGNAL_MAX)
    for index, signal in enumerate(signals):
        checks.count(signal, f"signals[{index}]", low=1, high=segment_facts.SIGNAL_MAX)
    return segment_facts.signal_mask(signals) if signals else None
