"""Decodes payloads of many datasets in one pass per signal, and adds the rows to each dataset."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

import pyarrow as pa

from dataplane.babies.columns import DecodedDataset, Rows
from dataplane.babies.conformity import PassCheck, QuarantinedPart, divided, verdict_of
from dataplane.babies.payload import Payload
from dataplane.babies.receipts import Receipts, reads_attribute
from segments.otlp.arrow import Array, make, pc
from segments.otlp.decode import Decoded, decode
from segments.otlp.typed_attributes import RecordAttributes
from segments.parquet.schema import section_schema
from segments.parquet.sorting import compact
from segments.signals import Signal
from segments.typed.conformity import SchemaMisfits

Taker = TypeVar("Taker", bound=DecodedDataset)


class RoutedPayload(NamedTuple, Generic[Taker]):
    """A payload and the dataset that its records belong to."""

    dataset: Taker
    payload: Payload


@dataclass(frozen=True, slots=True)
class UndecodablePayload(Generic[Taker]):
    """A payload that cannot be decoded."""

    routed: RoutedPayload[Taker]
    error: str


@dataclass(frozen=True, slots=True)
class PassRemainder(Generic[Taker]):
    """Payloads of a pass that are not rows, as a whole or in part."""

    undecodable: Sequence[UndecodablePayload[Taker]]
    schema_violations: Sequence[tuple[RoutedPayload[Taker], QuarantinedPart]]


def decode_pass(signal: Signal, routed: Sequence[RoutedPayload[Taker]]) -> PassRemainder[Taker]:
    """Decode payloads of one signal into their datasets' columns; returns the excluded payloads.

    Payloads are pieces: none has more records than one pass may decode. One pass for 500
    datasets costs a quarter of a pass for each.
    """
    # Sorted by dataset, so that the rows of each lie together.
    ordered = sorted(routed, key=lambda item: item.dataset.index)
    datasets = {item.dataset.index: item.dataset for item in ordered}
    bodies = [item.payload.body for item in ordered]
    times = [item.payload.received_at for item in ordered]
    decoded = decode(signal, bodies, times, are_checked=True)
    owners = make.array([item.dataset.index for item in ordered], pa.int32())
    check = PassCheck(signal, bodies, decoded.slices)
    receipts = Receipts(decoded.slices, [item.payload for item in ordered])
    attributes = RecordAttributes(
        decoded.attributes,
        [column.attribute for read in datasets.values() for column in read.work.spec.promoted],
    )
    # Messages of a pass in which no dataset has typed columns are not kept with its rows.
    decoded = replace(decoded, attributes=())
    for index, rows in _rows_by_dataset(decoded, owners):
        dataset = datasets[index]
        promoted, unconverted = _with_promoted(rows, signal, dataset, check, receipts, attributes)
        if promoted.stop > promoted.start:
            dataset.columns.add(signal, promoted)
        dataset.unconverted.update(unconverted)
    for item in ordered:
        payload = item.payload
        item.dataset.columns.add_source(payload.stream_id, payload.offset, len(payload.body))
    return PassRemainder(
        [UndecodablePayload(ordered[slice_.index], slice_.error) for slice_ in decoded.failed],
        [
            (ordered[index], _part(ordered[index], cause, schema_violations))
            for index, cause, schema_violations in check.found()
        ],
    )


def _part(
    item: RoutedPayload[Taker], cause: str, schema_violations: SchemaMisfits
) -> QuarantinedPart:
    work = item.dataset.work
    verdict = verdict_of(work.dataset_id, work.spec)
    return divided(item.payload, verdict, cause, schema_violations)


def _rows_by_dataset(decoded: Decoded, owners: Array) -> Iterator[tuple[int, Rows]]:
    """Consecutive rows of one dataset each, with the dataset's index."""
    if decoded.table is None:
        return
    # Measuring each slice takes 20 calls, and every slice would count the dictionaries, which
    # all datasets share, as its own.
    row_bytes = decoded.table.nbytes / decoded.table.num_rows
    start = 0
    for slices in decoded.slices:
        runs: Any = pc.run_end_encode(owners.take(slices))
        first = start
        for end, index in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
            stop = first + end
            yield index, Rows(decoded.table, start, stop, round(row_bytes * (stop - start)))
            start = stop


def _with_promoted(
    rows: Rows,
    signal: Signal,
    dataset: DecodedDataset,
    check: PassCheck,
    receipts: Receipts,
    attributes: RecordAttributes,
) -> tuple[Rows, Counter[str]]:
    """Add the typed columns; skip what violates the schema or is outside, and duplicates.

    Other misfits are counted by column.
    """
    unconverted, spec = Counter[str](), dataset.work.spec
    events = dataset.events if signal == "logs" else None
    if not spec.promoted:
        return rows, unconverted
    schema = section_schema(signal, spec.promoted)
    reading = list(filter(reads_attribute, spec.promoted))
    batches = []
    size_bytes, first_row = rows.size_bytes, rows.start
    is_shared = any(column.scope in ("resource", "scope") for column in reading)
    for batch in rows.table.to_batches():
        # A resource's values are promoted, and counted, in the dictionary, which is shared by all
        # datasets of the pass.
        batch = compact(batch) if is_shared else batch
        read, failures = attributes.promote(batch, reading, first_row)
        by_column = dict(zip(reading, read, strict=True))
        columns = receipts.complete(spec.promoted, by_column, first_row, batch.num_rows)
        size_bytes += sum(column.nbytes for column in columns)
        typed = pa.record_batch([*batch.columns, *columns], schema=schema)
        unfit = {
            column: values
            for column, values in zip(spec.promoted, columns, strict=True)
            if column.name in spec.enforced and failures[column.name]
        }
        conforming = check.conforming(batch, unfit, first_row) if unfit else None
        if events is not None:
            conforming = check.inside(typed, events.deduplication, first_row, conforming)
        kept = typed if conforming is None else typed.filter(conforming)
        if events is not None:
            payloads = receipts.payloads(first_row, batch.num_rows)
            accepted = payloads if conforming is None else payloads.filter(conforming)
            kept = events.distinct(kept, accepted, receipts.baby_ids)
        batches.append(kept)
        first_row += batch.num_rows
        unconverted.update({n: k for n, k in failures.items() if n not in spec.enforced and k})
    table = pa.Table.from_batches(batches, schema=schema)
    return Rows(table, 0, table.num_rows, size_bytes), unconverted
