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
from dataplane.babies.reads import DatasetWork
from segments.parquet.columns.stored_columns import FORMAT_MICROSECONDS, section_stored
from segments.parquet.schema import section_schema
from segments.parquet.spec import SegmentSpec
from segments.signals import Signal
from segplane.read.rows.baby_payloads import BabyPayloads
from segplane.read.rows.columns import ReadColumns
from segplane.read.rows.conversion import conformed
from segplane.read.rows.fresh import FreshRecords
from segplane.read.rows.passed_payloads import PassedPayloads

# OTLP that is decoded in one pass; its rows take a few times as much memory.
PASS_BYTES = 16 * 1024 * 1024


class FreshReading:
    """One reading of fresh records; `left_out` payloads would go to the quarantine."""

    def __init__(self, fresh: FreshRecords, columns: ReadColumns) -> None:
        self._columns = columns
        self._payloads: PassedPayloads | BabyPayloads = (
            BabyPayloads(fresh, columns.signals) if fresh.passed is None else fresh.passed
        )
        self._left_out = 0
        # meta lists no baby segments of datasets that are deduplicated.
        work = DatasetWork(fresh.dataset_id, _decoded_spec(columns), ())
        self._dataset = DecodedDataset(0, work)
        self._pending: dict[Signal, list[RoutedPayload[DecodedDataset]]] = defaultdict(list)
        self._pending_bytes = 0

    @property
    def left_out(self) -> int:
        """Payloads that were skipped so far."""
        return self._payloads.left_out + self._left_out

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows of the signals asked for, with every column of `columns.all`.

        Raises ReadError for a baby segment that cannot be read.
        """
        for payload in self._payloads:
            if payload.signal in self._columns.signals:
                self._pending[payload.signal].append(RoutedPayload(self._dataset, payload))
                self._pending_bytes += payload.decoded_bytes
            if self._pending_bytes >= PASS_BYTES:
                yield from self._decoded()
        yield from self._decoded()

    def _decoded(self) -> Iterator[pa.RecordBatch]:
        """Decode the pending payloads, one pass a signal."""
        pending, self._pending, self._pending_bytes = self._pending, defaultdict(list), 0
        for signal, routed in pending.items():
            left_out = decode_pass(signal, routed)
            self._left_out += len(left_out.undecodable) + len(left_out.schema_violations)
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
