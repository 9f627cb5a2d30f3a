"""Writes one dataset's columns as sorted merged segments, one per UTC day, and uploads them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from nursery.decoding import Rows
from nursery.results import WrittenSegment
from nursery.routing import Payload
from nursery.tasks import DatasetWork
from segments.ids import new_uuid7
from segments.keys import new_merged_key
from segments.offsets import OffsetSpan, coalesce
from segments.otlp.arrow import Array, pc
from segments.parquet.footer import BatchPart, SegmentFacts, SegmentFooter
from segments.parquet.sorting import shrink, sort_table
from segments.parquet.upload import upload_segment
from segments.parquet.writer import SegmentWriter
from segments.signals import SIGNALS, Signal
from segments.store.interface import ObjectStore

PRODUCER = "segplane-nursery/1"
# A client with a random clock must not flood the bucket: smaller days share one file.
DAY_FILES_MAX = 8
DAY_NANOS = 86_400 * 10**9


@dataclass(slots=True)
class DatasetColumns:
    """What a task has decoded for one dataset and not yet written."""

    tables: dict[Signal, list[Rows]] = field(default_factory=dict)
    ranges: set[tuple[str, int]] = field(default_factory=set)
    size_bytes: int = 0
    otlp_bytes: int = 0
    last_signal: Signal | None = None

    def add(self, signal: Signal, rows: Rows) -> int:
        """Keep some records; returns about how many bytes they hold."""
        self.tables.setdefault(signal, []).append(rows)
        self.last_signal = signal
        self.size_bytes += rows.size_bytes
        return rows.size_bytes

    def note(self, payload: Payload) -> None:
        """Note where records came from, and how large they were."""
        self.ranges.add((payload.stream_id, payload.offset))
        self.otlp_bytes += len(payload.body)

    def take_front(self) -> "DatasetColumns | None":
        """Take all but the last table; None if there is no other.

        What stays makes sure that a batch which was begun gets a last file. Both halves name all
        babies: together they are one batch.
        """
        if self.last_signal is None or sum(map(len, self.tables.values())) < 2:
            return None
        signal, last = self.last_signal, self.tables[self.last_signal].pop()
        tables = {found: own for found, own in self.tables.items() if own}
        front = DatasetColumns(tables, set(self.ranges), self.size_bytes, self.otlp_bytes)
        self.tables, self.size_bytes = {}, 0
        front.size_bytes -= self.add(signal, last)
        return front

    @property
    def rows(self) -> int:
        """Rows of all signals."""
        return sum(rows.stop - rows.start for own in self.tables.values() for rows in own)

    def lineage(self) -> tuple[OffsetSpan, ...]:
        """Where the records came from, for the footer."""
        return coalesce(OffsetSpan(stream, offset, offset) for stream, offset in self.ranges)

    def joined(self) -> dict[Signal, pa.Table]:
        """One table per signal."""
        return {
            signal: pa.concat_tables(
                shrink(rows.table) for rows in self.tables[signal]
            ).unify_dictionaries()
            for signal in SIGNALS
            if signal in self.tables
        }


@dataclass(slots=True)
class BatchSoFar:
    """The files that have one batch id, as far as they are written."""

    batch_id: str = field(default_factory=lambda: str(new_uuid7()))
    parts: int = 0


def write_segments(
    store: ObjectStore,
    work: DatasetWork,
    columns: DatasetColumns,
    folder: Path,
    batch: BatchSoFar,
    *,
    is_last: bool,
) -> list[WrittenSegment]:
    """Write, upload and verify everything in `columns`; the local files are removed.

    `is_last` says that the batch gets no more files.
    """
    tables = columns.joined()
    days = list(_day_files(tables))
    lineage = columns.lineage()
    written = []
    last = batch.parts + len(days)
    for part, wanted in enumerate(days, start=batch.parts + 1):
        count = last if is_last and part == last else 0
        footer = SegmentFooter(
            dataset_id=work.dataset_id,
            producer=PRODUCER,
            batches=(BatchPart(batch.batch_id, part, count),),
            ranges=lineage,
        )
        path = folder / f"{batch.batch_id}-{part}.parquet"
        written.append(_write_one(store, work, _of_days(tables, wanted), footer, path))
    batch.parts = last
    return written


def _write_one(
    store: ObjectStore,
    work: DatasetWork,
    tables: Mapping[Signal, pa.Table],
    footer: SegmentFooter,
    path: Path,
) -> WrittenSegment:
    try:
        with SegmentWriter(path, tables.keys(), work.spec, footer) as writer:
            for signal in SIGNALS:
                if signal in tables:
                    writer.write(signal, sort_table(tables[signal], work.spec, signal))
            facts = writer.close()
        key = new_merged_key(work.dataset_id)
        upload_segment(store, key, path, facts)
    finally:
        path.unlink(missing_ok=True)
    return written_segment(key, facts)


def written_segment(key: str, facts: SegmentFacts) -> WrittenSegment:
    """Say what stands under a key now."""
    return WrittenSegment(
        key=key,
        rows=facts.rows,
        size_bytes=facts.size_bytes,
        compressed_size_bytes=facts.compressed_size_bytes,
        start_time=facts.start_time,
        end_time=facts.end_time,
    )


def _day_files(tables: Mapping[Signal, pa.Table]) -> Iterator[frozenset[int] | None]:
    """The days of each file; None = all there are."""
    rows: dict[int, int] = {}
    for table in tables.values():
        time_bounds = pc.min_max(table["timestamp"].cast(pa.int64())).as_py()
        first, last = time_bounds["min"] // DAY_NANOS, time_bounds["max"] // DAY_NANOS
        if first == last:
            rows[first] = rows.get(first, 0) + table.num_rows
            continue
        for item in pc.value_counts(_days(table)).to_pylist():
            rows[item["values"]] = rows.get(item["values"], 0) + item["counts"]
    if len(rows) == 1:
        yield None
        return
    largest_first = sorted(rows, key=lambda day: (-rows[day], day))
    for day in sorted(largest_first[:DAY_FILES_MAX]):
        yield frozenset((day,))
    if rest := largest_first[DAY_FILES_MAX:]:
        yield frozenset(rest)


def _of_days(
    tables: Mapping[Signal, pa.Table], wanted: frozenset[int] | None
) -> dict[Signal, pa.Table]:
    if wanted is None:
        return dict(tables)
    values = pa.array(sorted(wanted), pa.int64())
    found = {s: _kept(t, pc.is_in(_days(t), value_set=values)) for s, t in tables.items()}
    return {signal: table for signal, table in found.items() if table.num_rows}


def _kept(table: pa.Table, mask: Any) -> pa.Table:
    return table.filter(mask)


def _days(table: pa.Table) -> Array:
    return pc.divide(table["timestamp"].cast(pa.int64()), pa.scalar(DAY_NANOS, pa.int64()))
