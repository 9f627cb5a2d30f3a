"""Rows of baby segments, by the rules that nurseries merge them by.

Records that a nursery would quarantine are skipped, and counted. Nothing is written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from dataplane.babies.columns import DatasetColumns, DecodedDataset
from dataplane.babies.decoding import RoutedPayload, decode_pass
from dataplane.babies.payload import Payload
from dataplane.babies.reader import BabyReader
from dataplane.babies.reads import DatasetWork, Routes
from dataplane.babies.routing import Router, StrayPayload
from segments.errors import SegmentsError
from segments.offsets import spans_of
from segments.otlp.wire import UndecodableSlice
from segments.parquet.columns.stored_columns import FORMAT_MICROSECONDS, section_stored
from segments.parquet.schema import section_schema
from segments.parquet.spec import SegmentSpec
from segments.signals import Signal
from segments.store.open import open_store
from segplane.read.errors import ReadError, sentence
from segplane.read.rows.columns import ReadColumns
from segplane.read.rows.conversion import conformed
from segplane.read.rows.fresh import FreshRecords

# OTLP that is decoded in one pass; its rows take a few times as much memory.
PASS_BYTES = 16 * 1024 * 1024


class FreshReading:
    """One reading of fresh records; `left_out` payloads would go to the quarantine."""

    def __init__(self, fresh: FreshRecords, columns: ReadColumns) -> None:
        assert fresh.store is not None, "there is no baby to read"
        self.left_out = 0
        self._columns = columns
        # meta lists no baby segments of datasets that are deduplicated.
        self._dataset = DecodedDataset(0, _work(fresh, _decoded_spec(columns)))
        self._router: Router[DecodedDataset] = Router(_routes(fresh), [self._dataset])
        self._reader = BabyReader(open_store(fresh.store), self)
        self._reads = fresh.babies
        self._pending: dict[Signal, list[RoutedPayload[DecodedDataset]]] = defaultdict(list)
        self._pending_bytes = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows of the signals asked for, with every column of `columns.all`.

        Raises ReadError for a baby segment that cannot be read.
        """
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
                elif item[1].signal in self._columns.signals:
                    yield from self._take(*item)
        yield from self._decoded()

    def put_baby(self, stream_id: str, offset: int, body: bytes, error: Exception) -> None:
        """Write nothing: a nursery puts it into the quarantine."""

    def _take(self, dataset: DecodedDataset, payload: Payload) -> Iterator[pa.RecordBatch]:
        try:
            pieces = (payload,) if payload.is_one_piece else tuple(payload.pieces())
        except UndecodableSlice:
            self.left_out += 1
            return
        for piece in pieces:
            self._pending[piece.signal].append(RoutedPayload(dataset, piece))
            self._pending_bytes += piece.decoded_bytes
            if self._pending_bytes >= PASS_BYTES:
                yield from self._decoded()

    def _decoded(self) -> Iterator[pa.RecordBatch]:
        """Decode the pending payloads, one pass a signal."""
        pending, self._pending, self._pending_bytes = self._pending, defaultdict(list), 0
        for signal, routed in pending.items():
            left_out = decode_pass(signal, routed)
            self.left_out += len(left_out.undecodable) + len(left_out.schema_violations)
        columns, self._dataset.columns = self._dataset.columns, DatasetColumns()
        for signal in columns.signals:
            for rows in columns.tables[signal]:
                for batch in rows.table.to_batches():
                    yield self._stored(signal, batch)

    def _stored(self, signal: Signal, batch: pa.RecordBatch) -> pa.RecordBatch:
        stored = section_stored(signal, self._columns.promoted, FORMAT_MICROSECONDS)
        names = {field.name for field in section_schema(signal, self._columns.promoted)}
        by_name: dict[str, Any] = {
            name: column
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
            if name in names
        }
        return conformed(stored.with_words(stored.split(by_name)), batch.num_rows, self._columns)


def _decoded_spec(columns: ReadColumns) -> SegmentSpec:
    """The columns to decode: those to be read, and those that records have to fit."""
    enforced = columns.spec.enforced
    others = [column for column in columns.spec.promoted if column.name in enforced]
    promoted = dict.fromkeys((*columns.promoted, *others))
    return SegmentSpec((), tuple(promoted), enforced)


def _work(fresh: FreshRecords, spec: SegmentSpec) -> DatasetWork:
    """Return the dataset, with the offsets that are its."""
    offsets: dict[str, list[int]] = defaultdict(list)
    for baby in fresh.babies:
        offsets[baby.stream_id].append(baby.offset)
    spans = (span for stream, numbers in offsets.items() for span in spans_of(stream, numbers))
    return DatasetWork(fresh.dataset_id, spec, tuple(spans))


def _routes(fresh: FreshRecords) -> list[Routes]:
    return [Routes(stream, {}, tuple(fresh.periods.get(stream, ()))) for stream in fresh.cut]
