"""The columns `id`, `ingested_at` and `batch_id`, which follow from how a record was received.

A record's id is the attribute `id` that it came with. Otherwise it is made of the place of its
payload and its own place among the rows of that, so each decoding of the payload, at any time, gets
the same id: a nursery that tries again, a replay of the quarantine, and a reading of fresh records.
Its batch id is the digest of the export that it came in, which the baby segment has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, cast

import pyarrow as pa

from dataplane.babies.payload import Payload
from segments.export_digest import batch_id_of
from segments.otlp.arrow import Array, make, pc
from segments.parquet.schema import TIMESTAMP
from segments.parquet.spec import RECEIPT, REQUEST, PromotedColumn

_PLACE_BYTES = 16


def reads_attribute(column: PromotedColumn) -> bool:
    """Whether a column's values are attributes: all but `ingested_at` and `batch_id`."""
    return column.scope != REQUEST and not _is_time(column)


def _is_time(column: PromotedColumn) -> bool:
    return column.scope == RECEIPT and column.kql_type == "datetime"


class Receipts:
    """Receipts of the rows of one decoding pass; `slices` names each row's payload."""

    def __init__(self, slices: Sequence[Array], payloads: Sequence[Payload]) -> None:
        self._slices = slices
        self._payloads = payloads

    def complete(
        self,
        columns: Sequence[PromotedColumn],
        read: Mapping[PromotedColumn, pa.Array[Any]],
        start: int,
        rows: int,
    ) -> list[pa.Array[Any]]:
        """Return the columns of rows from `start` on; `read` has those that read attributes."""
        completed: list[Any] = []
        for column in columns:
            if column.scope == REQUEST:
                completed.append(self._batch_ids(start, rows))
            elif _is_time(column):
                completed.append(self._times.slice(start, rows))
            elif column.scope == RECEIPT:
                completed.append(pc.coalesce(read[column], self._ids.slice(start, rows)))
            else:
                completed.append(read[column])
        return completed

    def payloads(self, start: int, rows: int) -> Any:
        """Return the payload of each of some rows, by its place among all."""
        return cast("Any", self._payload_of_row).slice(start, rows)

    @cached_property
    def baby_ids(self) -> list[tuple[str, int]]:
        """Stream and offset of the baby of each payload."""
        return [(payload.stream_id, payload.offset) for payload in self._payloads]

    @cached_property
    def _payload_of_row(self) -> Array:
        return make.concat_arrays(list(self._slices))

    @cached_property
    def _times(self) -> pa.Array[Any]:
        times = make.array([payload.received_at for payload in self._payloads], pa.int64())
        return cast("pa.Array[Any]", times.cast(TIMESTAMP).take(self._payload_of_row))

    def _batch_ids(self, start: int, rows: int) -> pa.Array[Any]:
        # Coded for these rows only: a dataset does not keep the ids of others in the same pass.
        payloads: Any = self._payload_of_row.slice(start, rows)
        return cast("pa.Array[Any]", self._batches.take(payloads).dictionary_encode())

    @cached_property
    def _batches(self) -> pa.Array[Any]:
        batches = [batch_id_of(payload.digest) or None for payload in self._payloads]
        return cast("pa.Array[Any]", make.array(batches, pa.string()))

    @cached_property
    def _ids(self) -> pa.Array[Any]:
        places = make.array(list(map(position_of, self._payloads)), pa.string())
        keys, rows = (places.take(self._payload_of_row), self._row_in_payload().cast(pa.string()))
        return cast("pa.Array[Any]", pc.binary_join_element_wise(keys, rows, "-"))

    def _row_in_payload(self) -> Array:
        """Count the rows of each payload from 0; each slice has those of a payload together."""
        counted = [0] * len(self._payloads)
        pieces = []
        for payloads in self._slices:
            runs: Any = pc.run_end_encode(payloads)
            shifts, start = [], 0
            for end, payload in zip(
                runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True
            ):
                # Rows of another kind of metric came before.
                shifts.append(counted[payload] - start)
                counted[payload] += end - start
                start = end
            shifted = pa.RunEndEncodedArray.from_arrays(runs.run_ends, pa.array(shifts, pa.int64()))
            rows = pc.subtract(pc.cumulative_sum(pa.repeat(1, start)), 1)
            pieces.append(pc.add(rows, pc.run_end_decode(shifted)))
        return make.concat_arrays(pieces)


def position_of(payload: Payload) -> str:
    """Return the digest of a payload's position, which the ids of its records begin with."""
    if payload.position:
        return payload.position
    parts = (
        payload.stream_id,
        payload.offset,
        payload.token_id,
        payload.signal,
        payload.slice_index,
        payload.piece,
        # Counted by themselves, they must not get the ids of the rest.
        payload.part,
    )
    text = "/".join(map(str, parts))
    return blake2b(text.encode(), digest_size=_PLACE_BYTES).hexdigest()
