"""Leaves the records that do not conform out of decoded rows, and names them in their payloads."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from segments.otlp.arrow import Array
from segments.parquet.schema import PromotedColumn, SegmentSpec
from segments.signals import Signal
from segments.typed.conformity import EnforcedColumn, Nonconforming, verdict
from segments.typed.division import divide, point_kinds
from segments.typed.row_check import misfit_rows
from segplane.dataplane.babies.payload import Payload


@dataclass(frozen=True, slots=True)
class QuarantinedPart:
    """The records of a payload that do not conform, as a payload of its own.

    `verdict` names the rule: another nursery that judges by the same one gets the same bytes.
    """

    payload: Payload
    verdict: str
    nonconforming: Nonconforming


def verdict_of(dataset_id: str, spec: SegmentSpec) -> str:
    """Name the rule by which the records of a dataset are judged."""
    columns = [column for column in spec.promoted if column.name in spec.enforced]
    return verdict(dataset_id, (EnforcedColumn(*column.definition) for column in columns))


def divided(payload: Payload, nonconforming: Nonconforming, verdict: str) -> QuarantinedPart:
    """Take the records that do not conform out of a payload."""
    _, body = divide(payload.signal, payload.body, frozenset(nonconforming.records))
    return QuarantinedPart(payload._replace(body=body), verdict, nonconforming)


class PassCheck:
    """The records that one pass over payloads finds not to conform.

    `slices` says for each row of the pass which payload it came from: within each of the arrays the
    rows of a payload lie together, in the payload's order.
    """

    def __init__(self, signal: Signal, bodies: Sequence[bytes], slices: Sequence[Array]) -> None:
        self._signal = signal
        self._bodies = bodies
        self._slices = slices
        # Payload, record and reasons.
        self._reasons: dict[int, dict[int, list[tuple[str, str]]]] = {}

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
            self._reasons.setdefault(payload, {})[record] = reasons
        return None if all(mask) else pa.array(mask, pa.bool_())

    def found(self) -> Iterator[tuple[int, Nonconforming]]:
        """Yield what does not conform, by the index of the payload."""
        for payload, records in sorted(self._reasons.items()):
            result = Nonconforming()
            for record in sorted(records):
                result.add(record, records[record])
            yield payload, result

    def _record(self, row: int, kind: str) -> tuple[int, int]:
        """Return a row's payload, and its record's place there."""
        for payloads in self._payloads:
            if row < len(payloads):
                payload = payloads[row]
                place = row - bisect_left(payloads, payload)
                return payload, self._places(payload, kind)[place] if kind else place
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
            for place, own in enumerate(kinds):
                self._points.setdefault((payload, own), []).append(place)
        return self._points[key]

    @cached_property
    def _points(self) -> dict[tuple[int, str], list[int]]:
        return {}
