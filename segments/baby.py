"""The baby segment: encodes and decodes one CombinedSignals object.

Payloads are the exports' own bytes: nothing here parses or re-serializes OTLP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from itertools import repeat
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import google_crc32c
from google.protobuf.message import DecodeError

from segments.errors import CorruptObject
from segments.protowire import length_prefix
from segments.signals import TRAITS, Signal
from segments.v1 import combined_signals_pb2 as pb

# The signals' kinds, in the order that they have inside a token's entry.
_KINDS: dict[Signal, pb.SignalKind.ValueType] = {
    row.name: pb.SignalKind.ValueType(row.kind)
    for row in sorted(TRAITS.values(), key=lambda row: row.kind)
}
_STAMP_FIELDS = {signal: f"{signal}_stamp" for signal in _KINDS}
# Tag of the fixed32 field 101, which is the last of a stamped baby.
CRC_TAG = b"\xad\x06"
_CRC_BYTES = len(CRC_TAG) + 4
# Called with the id of a dataset, or None if a stamp names none.
IsWanted: TypeAlias = Callable[[str | None], bool]


class BabyKind(IntEnum):
    """The kind of a baby; UNSPECIFIED comes from collectors that set no stamp."""

    UNSPECIFIED = pb.BABY_KIND_UNSPECIFIED
    DATA = pb.BABY_KIND_DATA
    STOP = pb.BABY_KIND_STOP
    FILLER = pb.BABY_KIND_FILLER


class Export(NamedTuple):
    """The stamp of one export: how a retried export is known, and when it came (nanoseconds)."""

    digest: bytes
    received_at: int


# A baby of many datasets has thousands, and a frozen dataclass takes five times as long to make.
class TokenPart(NamedTuple):
    """The exports of one token and signal.

    `slices` are OTLP LogsData, TracesData or MetricsData messages in the order of arrival.
    `dataset_id` is None if the collector stamped nothing; counts and times are 0 then.
    `exports` holds one stamp per slice, or nothing. `damaged` are the indices of slices whose bytes
    are not those that were written; only `segments.damaged_baby` finds any.
    """

    token_id: str
    signal: Signal
    slices: tuple[bytes, ...]
    dataset_id: str | None = None
    num_records: int = 0
    start_time: int = 0
    end_time: int = 0
    exports: tuple[Export, ...] = ()
    damaged: frozenset[int] = frozenset()

    @property
    def size_bytes(self) -> int:
        """Bytes of OTLP in this part."""
        return sum(map(len, self.slices))

    def export(self, index: int, default_received_at: int) -> Export:
        """Stamp of slice `index`, with a default time; without a digest where no stamp has one."""
        stamp = self.exports[index] if len(self.exports) == len(self.slices) else Export(b"", 0)
        return stamp if stamp.received_at else Export(stamp.digest, default_received_at)


@dataclass(frozen=True, slots=True)
class Baby:
    """One baby segment; `flush_id` and `received_at` are unset in unstamped ones."""

    parts: tuple[TokenPart, ...] = ()
    kind: BabyKind = BabyKind.UNSPECIFIED
    flush_id: bytes = b""
    received_at: int = 0
    is_stamped: bool = True

    @property
    def is_stop(self) -> bool:
        """True for the last baby of a stream: stamped as stop, or unstamped and empty."""
        return self.kind is BabyKind.STOP or (not self.is_stamped and not self.parts)

    @property
    def num_records(self) -> int:
        """Stamped number of records, all signals."""
        return sum(part.num_records for part in self.parts)

    @property
    def dataset_ids(self) -> tuple[str, ...]:
        """Datasets that the stamps name, sorted."""
        return tuple(sorted({part.dataset_id for part in self.parts if part.dataset_id}))

    def time_range(self) -> tuple[int, int]:
        """Bounds of the stamped event times; (0, 0) without records."""
        stamped = [part for part in self.parts if part.num_records]
        if not stamped:
            return (0, 0)
        return min(p.start_time for p in stamped), max(p.end_time for p in stamped)


def encode_baby(baby: Baby) -> bytes:
    """Return the bytes of one baby segment object."""
    return b"".join(baby_pieces(baby))


def baby_pieces(baby: Baby) -> tuple[bytes, ...]:
    """Return the bytes of one baby segment object in pieces, of which payloads are not copies.

    Parts of one token and signal must not repeat. An unstamped baby gets neither stamps nor a
    checksum, like those of a collector that knows only the contract. The bytes are those of
    protobuf's deterministic serialization, framed by hand.
    """
    token_stamps: list[tuple[str, bytes]] = []
    pieces = list(_token_pieces(baby, token_stamps))
    if not baby.is_stamped:
        return tuple(pieces)
    stamp = pb.CombinedSignals()
    stamp.stamp.kind = pb.BabyKind.ValueType(baby.kind)
    stamp.stamp.flush_id = baby.flush_id
    stamp.stamp.received_at = baby.received_at
    stamp.stamp.stamps_crc32c = stamps_crc32c(token_stamps, stamp.stamp)
    pieces.append(stamp.SerializeToString())
    crc = 0
    for piece in pieces:
        crc = google_crc32c.extend(crc, piece)
    return (*pieces, CRC_TAG, crc.to_bytes(4, "little"))


def pieces_crc32c(pieces: Sequence[bytes]) -> int:
    """CRC-32C of the whole object, from the pieces of `baby_pieces`.

    A stamped baby ends with that of everything before, so that its payloads are not read again.
    """
    crc, pieces_after = 0, pieces
    if len(pieces) > 1 and pieces[-2] == CRC_TAG:
        crc, pieces_after = int.from_bytes(pieces[-1], "little"), pieces[-2:]
    for piece in pieces_after:
        crc = google_crc32c.extend(crc, piece)
    return crc


def decode_baby(body: bytes, is_wanted: IsWanted = lambda _: True) -> Baby:
    """Parse one baby segment object and check its checksum.

    Of a stamped baby only parts of wanted datasets are returned. Raises CorruptObject for bytes
    that are not CombinedSignals, or a stamped baby whose checksum is missing or wrong. Unknown
    fields are ignored.
    """
    message = parse_baby(body)
    if message.HasField("stamp") or message.crc32c:
        _check_crc(body)
    return baby_of(message, is_wanted)


def parse_baby(body: bytes) -> pb.CombinedSignals:
    """Parse one baby segment object, whatever its checksum; raises CorruptObject."""
    try:
        return pb.CombinedSignals.FromString(body)
    except DecodeError as error:
        raise CorruptObject("bytes are not a CombinedSignals message") from error


def baby_of(message: pb.CombinedSignals, is_wanted: IsWanted = lambda _: True) -> Baby:
    """Convert a parsed message to a Baby."""
    return Baby(
        parts=tuple(_parts(message, is_wanted)),
        kind=_kind(message.stamp.kind),
        flush_id=message.stamp.flush_id,
        received_at=message.stamp.received_at,
        is_stamped=message.HasField("stamp"),
    )


def crc32c(body: bytes) -> int:
    """CRC-32C (Castagnoli) of `body`."""
    return int(google_crc32c.value(body))


def stamps_crc32c(token_stamps: Iterable[tuple[str, bytes]], stamp: pb.BabyStamp) -> int:
    """CRC-32C of all stamps: `token_stamps` are (token id, serialized stamps) in order of ids."""
    crc = 0
    for token_id, stamps in token_stamps:
        crc = google_crc32c.extend(google_crc32c.extend(crc, token_id.encode()), stamps)
    covered = pb.BabyStamp()
    covered.CopyFrom(stamp)
    covered.ClearField("stamps_crc32c")
    return int(google_crc32c.extend(crc, covered.SerializeToString()))


def _token_pieces(baby: Baby, token_stamps: list[tuple[str, bytes]]) -> Iterator[bytes]:
    """Frame the map of tokens: per token, in order, its payloads by signal and then its stamps.

    The stamps are added to `token_stamps`, too.
    """
    by_token: dict[str, dict[Signal, TokenPart]] = {}
    for part in baby.parts:
        parts = by_token.setdefault(part.token_id, {})
        assert part.signal not in parts, "a token and signal occurs twice in one baby"
        parts[part.signal] = part
    for token_id in sorted(by_token, key=str.encode):
        parts = by_token[token_id]
        value: list[bytes] = []
        for signal, kind in _KINDS.items():
            for payload in parts[signal].slices if signal in parts else ():
                value += (length_prefix(kind, len(payload)), payload)
        if baby.is_stamped:
            stamps = _stamps(parts)
            value.append(stamps)
            token_stamps.append((token_id, stamps))
        key = token_id.encode()
        size_bytes = sum(map(len, value))
        entry = b"".join((length_prefix(1, len(key)), key, length_prefix(2, size_bytes)))
        yield length_prefix(1, len(entry) + size_bytes)
        yield entry
        yield from value


def _stamps(parts: dict[Signal, TokenPart]) -> bytes:
    entry = pb.TokenSignals()
    for signal, kind in _KINDS.items():
        if signal not in parts:
            continue
        part, stamp = parts[signal], _stamp(entry, signal)
        stamp.dataset_id = part.dataset_id or ""
        stamp.num_records = part.num_records
        stamp.start_time = part.start_time
        stamp.end_time = part.end_time
        slices: Iterable[bytes | None] = part.slices
        if len(part.exports) != len(part.slices):
            slices = repeat(None)
        for export, body in zip(part.exports, slices, strict=False):
            added = entry.exports.add(
                signal=kind, digest=export.digest, received_at=export.received_at
            )
            if body is not None:
                added.crc32c = crc32c(body)
    return entry.SerializeToString()


def _check_crc(body: bytes) -> None:
    end = len(body) - _CRC_BYTES
    if end < 0 or body[end : end + len(CRC_TAG)] != CRC_TAG:
        raise CorruptObject("baby segment does not end with its checksum")
    stated, computed = int.from_bytes(body[-4:], "little"), crc32c(body[:end])
    if stated != computed:
        raise CorruptObject(f"checksum of the baby segment is {computed:08x}, not {stated:08x}")


def _kind(value: int) -> BabyKind:
    # A kind from a later release carries exports or nothing, and is read like a known one.
    try:
        return BabyKind(value)
    except ValueError:
        return BabyKind.UNSPECIFIED


def _parts(message: pb.CombinedSignals, is_wanted: IsWanted) -> Iterator[TokenPart]:
    is_stamped = message.HasField("stamp")
    # A token has parts of several signals, mostly of one dataset.
    is_wanted = cache(is_wanted)
    for token_id, entry in sorted(message.token_signals.items(), key=itemgetter(0)):
        exports: dict[int, list[Export]] | None = None
        for signal, kind in _KINDS.items():
            slices: Sequence[bytes] = getattr(entry, signal)
            if not slices:
                continue
            stamp = _stamp(entry, signal)
            dataset_id = stamp.dataset_id or None
            if is_stamped and not is_wanted(dataset_id):
                continue
            if exports is None:
                exports = {}
                for export in entry.exports:
                    stamped = Export(export.digest, export.received_at)
                    exports.setdefault(export.signal, []).append(stamped)
            counted = stamp.num_records, stamp.start_time, stamp.end_time
            stamps = tuple(exports.get(kind, ()))
            yield TokenPart(token_id, signal, tuple(slices), dataset_id, *counted, stamps)


def _stamp(entry: pb.TokenSignals, signal: Signal) -> pb.SignalStamp:
    stamp: pb.SignalStamp = getattr(entry, _STAMP_FIELDS[signal])
    return stamp
