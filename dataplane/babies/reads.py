"""Baby segments to read, the routing of their records, and their payloads, as values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from meta.v1.nursery_pb2 import RoutingPeriod
from segments.offsets import OffsetSpan
from segments.otlp.split import RECORDS_MAX, cut
from segments.parquet.spec import SegmentSpec
from segments.signals import TRAITS, Signal

# Columns of a record without any content: an empty record is 2 bytes of OTLP.
ROW_BYTES = 128


@dataclass(frozen=True, slots=True)
class Period:
    """A token's routing (signal -> dataset id), from an offset of one stream onwards."""

    token_id: str
    from_offset: int
    routes: Mapping[str, str]


def period_of(period: RoutingPeriod) -> Period:
    """Return a period as meta tells it; signals without a dataset are left out."""
    routes = {signal: getattr(period.routing, row.routing_field) for signal, row in TRAITS.items()}
    return Period(period.token_id, period.from_offset, {s: d for s, d in routes.items() if d})


@dataclass(frozen=True, slots=True)
class DatasetWork:
    """A dataset and the offsets whose records one task writes."""

    dataset_id: str
    spec: SegmentSpec
    ranges: tuple[OffsetSpan, ...]


@dataclass(frozen=True, slots=True)
class TaskRead:
    """One baby segment to read. Its owner quarantines the records that have no dataset.

    `dataset_ids` are those that its commit announced; empty = it may hold records of any dataset.
    One that `is_empty` by its commit may be missing, as the stop message is that was reaped after a
    backup.
    """

    stream_id: str
    offset: int
    is_owner: bool
    dataset_ids: frozenset[str] = frozenset()
    is_empty: bool = False


@dataclass(frozen=True, slots=True)
class Routes:
    """The routing of one stream's records.

    A stamp is valid if it names a dataset of `bases` whose entry began at an offset below the baby
    segment's; `periods` route babies without stamps.
    """

    stream_id: str
    bases: Mapping[str, int]
    periods: tuple[Period, ...]


class Payload(NamedTuple):
    """One OTLP payload and its position. `received_at` is the time of records without one.

    `decoded_bytes` estimates the size of its columns, to bound memory. A validated payload
    was accepted by the official classes before it was stored. `piece` counts the pieces that the
    payload was split into.
    """

    stream_id: str
    offset: int
    token_id: str
    signal: Signal
    slice_index: int
    body: bytes
    received_at: int
    decoded_bytes: int
    is_validated: bool
    # Place among the pieces of a payload that is split.
    piece: int = 0
    # Records of the payload that were quarantined by themselves: their piece and verdict.
    part: str = ""

    @property
    def is_one_piece(self) -> bool:
        """Whether it is known without a look at it that it need not be split."""
        return self.is_validated and len(self.body) <= RECORDS_MAX

    def pieces(self) -> Iterator["Payload"]:
        """Split the payload if it holds more records than one pass may decode.

        Raises UndecodableSlice if it is not a payload of its signal.
        """
        pieces = cut(self.signal, self.body, is_validated=self.is_validated)
        for piece, body in enumerate(pieces):
            if len(body) == len(self.body):
                yield self
            else:
                decoded_bytes = max(len(body), RECORDS_MAX * ROW_BYTES)
                yield self._replace(body=body, decoded_bytes=decoded_bytes, piece=piece)
