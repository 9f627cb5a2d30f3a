"""Removes schema violations and events outside the window from decoded rows, and names them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from dataplane.babies.payload import Payload
from segments.deduplication import Deduplication
from segments.otlp.arrow import Array, pc
from segments.parquet.lineage import DAY_NANOS
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.signals import Signal
from segments.typed.conformity import (
    OUTSIDE_WINDOW,
    SCHEMA_VIOLATION,
    SchemaMisfits,
    outside_reason,
    verdict,
)
from segments.typed.division import divide, point_kinds
from segments.typed.row_check import misfit_rows


@dataclass(frozen=True, slots=True)
class QuarantinedPart:
    """The records of a payload that are quarantined for one cause, as its own payload.

    `verdict` names the rule: another nursery that judges by the same one gets the same bytes.
    """

    payload: Payload
    verdict: str
    cause: str
    schema_violations: SchemaMisfits


def verdict_of(dataset_id: str, spec: SegmentSpec) -> str:
    """Name the rule by which the records of a dataset are judged."""
    enforced = (column for column in spec.promoted if column.name in spec.enforced)
    deduplication, window = spec.deduplication, None
    if deduplication is not None and deduplication.window is not None:
        # Its days: another nursery may judge on the next day.
        (column,) = (column for column in spec.promoted if column.name == deduplication.column)
        window = (column, deduplication.window)
    return verdict(dataset_id, enforced, window)


def divided(
    payload: Payload, verdict: str, cause: str, schema_violations: SchemaMisfits
) -> QuarantinedPart:
    """Take the records that are quarantined for a cause out of a payload."""
    _, body = divide(payload.signal, payload.body, frozenset(schema_violations.records))
    return QuarantinedPart(payload._replace(body=body), verdict, cause, schema_violations)


class PassCheck:
    """The records that one pass over payloads finds not to conform.

    `slices` says for each row of the pass which payload it came from: within each of the arrays the
    rows of a payload lie together, in the payload's order.
    """

    def __init__(self, signal: Signal, bodies: Sequence[bytes], slices: Sequence[Array]) -> None:
        self._signal = signal
        self._bodies = bodies
        self._slices = slices
        # Payload, cause, record and reasons.
        self._reasons: dict[tuple[int, str], dict[int, list[tuple[str, str]]]] = {}

    def conforming(
        self,
        batch: pa.RecordBatch,
        columns: Mapping[PromotedColumn, pa.Array[Any]],
        first_row: int,
    ) -> pa.Array[Any] | None:
        """Return which rows of a batch conform to columns that met a misfit; None = all of them.

        `first_row` is the place of the batch's first row in the pass.
        """
        mask = [True] * batch.num_rows
        for row, reasons in misfit_rows(batch, columns):
            mask[row] = False
            kind = batch.column("metric_type")[row].as_py() if self._signal == "metrics" else ""
            payload, record = self._record(first_row + row, kind)
            self._reasons.setdefault((payload, SCHEMA_VIOLATION), {})[record] = reasons
        return None if all(mask) else pa.array(mask, pa.bool_())

    def inside(
        self,
        typed: pa.RecordBatch,
        deduplication: Deduplication,
        first_row: int,
        kept: pa.Array[Any] | None,
    ) -> pa.Array[Any] | None:
        """Return which rows of those kept (None = all) have no key or a time in the window."""
        window = deduplication.window
        if window is None or not typed.num_rows:
            return kept
        times = typed.column("timestamp").cast(pa.int64())
        start, end = window.first_day * DAY_NANOS, (window.last_day + 1) * DAY_NANOS
        is_inside = pc.and_(pc.greater_equal(times, start), pc.less(times, end))
        is_inside = pc.or_(is_inside, typed.column(deduplication.column).is_null())
        if pc.all(is_inside).as_py():
            return kept
        mask: list[bool] = is_inside.to_pylist()
        before = [True] * len(mask) if kept is None else kept.to_pylist()
        for row, is_kept in enumerate(before):
            if is_kept and not mask[row]:
                payload, record = self._record(first_row + row, "")
                reason = outside_reason(times[row].as_py(), window)
                self._reasons.setdefault((payload, OUTSIDE_WINDOW), {})[record] = [reason]
        both = [inside and is_kept for inside, is_kept in zip(mask, before, strict=True)]
        return pa.array(both, pa.bool_())

    def found(self) -> Iterator[tuple[int, str, SchemaMisfits]]:
        """Yield the records that are skipped, by the index of the payload and the cause."""
        for (payload, cause), records in sorted(self._reasons.items()):
            result = SchemaMisfits()
            for record in sorted(records):
                result.add(record, records[record])
            yield payload, cause, result

    def _record(self, row: int, kind: str) -> tuple[int, int]:
        """Return a row's payload, and its record's place there."""
        for payloads in self._payloads:
            if row < len(payloads):
                payload = payloads[row]
                record = row - bisect_left(payloads, payload)
                return payload, self._places(payload, kind)[record] if kind else record
            row -= len(payloads)
        raise AssertionError("the row is one of the pass")

    @cached_property
    def _payloads(self) -> list[list[int]]:
        return [slices.to_pylist() for slices in self._slices]

    def _places(self, payload: int, kind: str) -> list[int]:
        """Return the places of a payload's data points of one kind of metric."""
        key = payload, kind
        if key not in self._points:
            kinds = point_kinds(self._bodies[payload])
            for index, row_kind in enumerate(kinds):
                self._points.setdefault((payload, row_kind), []).append(index)
        return self._points[key]

    @cached_property
    def _points(self) -> dict[tuple[int, str], list[int]]:
        return {}
