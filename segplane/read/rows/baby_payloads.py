"""Payloads of one dataset in baby segments that are not merged, routed as nurseries route them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from dataplane.babies.columns import DecodedDataset
from dataplane.babies.payload import Payload
from dataplane.babies.reader import BabyReader
from dataplane.babies.reads import DatasetWork, Routes
from dataplane.babies.routing import Router, StrayPayload
from segments.errors import SegmentsError
from segments.offsets import spans_of
from segments.otlp.wire import UndecodableSlice
from segments.parquet.spec import SegmentSpec
from segments.signals import SIGNALS, Signal
from segments.store.open import open_store
from segplane.read.errors import ReadError, sentence
from segplane.read.rows.fresh import FreshRecords


class BabyPayloads:
    """One reading of the payloads of some signals, each a piece that one pass may decode.

    `left_out` payloads would go to the quarantine. Nothing is written.
    """

    def __init__(self, fresh: FreshRecords, signals: Collection[Signal] = SIGNALS) -> None:
        assert fresh.store is not None, "there is no baby to read"
        self.left_out = 0
        self._signals = signals
        self._reads = fresh.babies
        self._router: Router[DecodedDataset] = Router(
            [Routes(stream, {}, tuple(fresh.periods.get(stream, ()))) for stream in fresh.cut],
            [DecodedDataset(0, _work(fresh))],
        )
        self._reader = BabyReader(open_store(fresh.store), self)

    def __iter__(self) -> Iterator[Payload]:
        """Yield the payloads. Raises ReadError for a baby segment that cannot be read."""
        for read, body in self._reader.fetch(self._reads):
            try:
                baby, received_at = self._reader.decode(read, body, self._router.is_wanted(read))
                routed = list(self._router.route(read, baby, received_at))
            except SegmentsError as error:
                raise ReadError(
                    f"baby segment {read.offset} of stream {read.stream_id} cannot be read:"
                    f" {sentence(error)}"
                ) from error
            for item in routed:
                if isinstance(item, StrayPayload):
                    self.left_out += 1
                elif item[1].signal in self._signals:
                    yield from self._pieces(item[1])

    def put_baby(self, stream_id: str, offset: int, body: bytes, error: Exception) -> None:
        """Write nothing: a nursery puts it into the quarantine."""

    def _pieces(self, payload: Payload) -> Iterator[Payload]:
        try:
            yield from (payload,) if payload.is_one_piece else tuple(payload.pieces())
        except UndecodableSlice:
            self.left_out += 1


def _work(fresh: FreshRecords) -> DatasetWork:
    """Return the dataset, with the offsets that are its."""
    offsets: dict[str, list[int]] = defaultdict(list)
    for baby in fresh.babies:
        offsets[baby.stream_id].append(baby.offset)
    spans = (span for stream, numbers in offsets.items() for span in spans_of(stream, numbers))
    return DatasetWork(fresh.dataset_id, SegmentSpec(), tuple(spans))
