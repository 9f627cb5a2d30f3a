"""Decodes the payloads of many datasets in one pass per signal, and takes them apart again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from nursery.routing import Payload
from segments.otlp import Decoded, decode
from segments.otlp_arrow import Array, make, pc
from segments.promoted import promote
from segments.schema import SegmentSpec, Signal, section_schema


@dataclass(frozen=True, slots=True)
class Piece:
    """Records of one work, by index.

    `unconverted` counts attributes that did not fit their promoted column and are null there.
    """

    work: int
    table: pa.Table
    unconverted: int


@dataclass(frozen=True, slots=True)
class Undecodable:
    """A payload that would not decode."""

    work: int
    payload: Payload
    error: str


def decode_together(
    signal: Signal, payloads: Sequence[tuple[int, Payload]], specs: Sequence[SegmentSpec]
) -> tuple[list[Piece], list[Undecodable]]:
    """Decode payloads of several works; `specs` are the works'. They have gone through `cut`.

    One pass for 500 datasets costs a quarter of one pass each.
    """
    # In the order of the works, so that each one's rows lie together and are cut out, not copied.
    ordered = sorted(payloads, key=lambda item: item[0])
    bodies, times = [p.body for _, p in ordered], [p.received_at for _, p in ordered]
    decoded = decode(signal, bodies, times, are_checked=True)
    failed = [Undecodable(*ordered[f.index], f.error) for f in decoded.failed]
    works = make.array([work for work, _ in ordered], pa.int32())
    pieces = [
        Piece(work, *_with_promoted(table, signal, specs[work]))
        for work, table in _cut(decoded, works)
    ]
    return pieces, failed


def _cut(decoded: Decoded, works: Array) -> Iterator[tuple[int, pa.Table]]:
    """Slices of the table that belong to one work each."""
    start = 0
    for slices in decoded.slices:
        runs: Any = pc.run_end_encode(works.take(slices))
        ends = runs.run_ends.to_pylist()
        part_start = start
        for end, work in zip(ends, runs.values.to_pylist(), strict=True):
            assert decoded.table is not None
            yield work, decoded.table.slice(start, part_start + end - start)
            start = part_start + end


def _with_promoted(table: pa.Table, signal: Signal, spec: SegmentSpec) -> tuple[pa.Table, int]:
    if not spec.promoted:
        return table, 0
    schema = section_schema(signal, spec.promoted)
    batches = []
    unconverted = 0
    for batch in table.to_batches():
        columns, failures = promote(batch, spec.promoted)
        unconverted += failures
        batches.append(pa.record_batch([*batch.columns, *columns], schema=schema))
    return pa.Table.from_batches(batches, schema=schema), unconverted
