"""Divides a merge by UTC day: the merged rows are spilled to disk by output, then written.

Rows of all days are mixed in the order of a merge. A writer for each output would hold a row group
of each in memory; spilled, they take as much as the writer of a single output.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from segments.errors import CorruptObject
from segments.merging.inputs import MergeInput, check_outputs
from segments.merging.merge import MergeOrder, merge_segments, open_merge
from segments.parquet.footer import SegmentFacts, footer_of_days
from segments.parquet.lineage import DAY_MAX, DAY_MIN, day_of
from segments.parquet.reader import day_numbers, distinct_days
from segments.parquet.sorting import compact, sort_owned
from segments.parquet.writer import SegmentWriter
from segments.signals import SIGNALS, Signal
from segments.store.interface import ObjectStore


@dataclass(frozen=True, slots=True)
class MergedFile:
    """One output of a merge on local disk."""

    path: Path
    facts: SegmentFacts


@dataclass(frozen=True, slots=True)
class MergedFiles:
    """All outputs of a merge in order of time, and how many attributes did not fit their column."""

    files: tuple[MergedFile, ...]
    unconverted: int


@dataclass(frozen=True, slots=True)
class DaySpan:
    """UTC days since 1970, both ends inclusive."""

    first: int
    last: int


def merge_by_day(
    store: ObjectStore,
    inputs: Sequence[MergeInput],
    order: MergeOrder,
    folder: Path,
    outputs_max: int,
) -> MergedFiles:
    """Merge inputs into one file a UTC day, at most `outputs_max`, below `folder`.

    With more days than that the oldest share a file. Raises as `merge_segments` does.
    """
    start, end = min(i.start_time for i in inputs), max(i.end_time for i in inputs)
    if outputs_max < 2 or day_of(start) == day_of(end):
        result = merge_segments(store, inputs, order, folder)
        file = MergedFile(folder / "merged.parquet", result.facts)
        return MergedFiles((file,), result.unconverted)
    with open_merge(store, inputs, order, folder) as merge:
        spans = day_spans(merge.days(), outputs_max)
        with Spill(folder, [span.first for span in spans]) as spill:
            for signal, table in merge.tables():
                spill.add(signal, table)
    files = []
    for number, span in enumerate(spans):
        footer = footer_of_days(merge.footer, span.first, span.last)
        path = folder / f"merged-{number}.parquet"
        with SegmentWriter(
            path, spill.signals(number), order.spec, footer, index=order.new_index(inputs)
        ) as writer:
            spill.write(number, writer)
            facts = writer.close(merge.unusable)
        if day_of(facts.start_time) < span.first or day_of(facts.end_time) > span.last:
            raise CorruptObject(f"an output of {span} holds {facts.start_time}..{facts.end_time}")
        files.append(MergedFile(path, facts))
    check_outputs([file.facts for file in files], merge.registered)
    return MergedFiles(tuple(files), merge.unconverted)


def day_spans(days: Collection[int], outputs_max: int) -> list[DaySpan]:
    """Divide all days that a time can have such that each span holds some of `days`.

    Each of them has its own span if there are not too many; else the newest have, and all
    older ones share the first span: one file to be merged and divided again, not many.
    """
    ordered = sorted(set(days))
    count = min(len(ordered), outputs_max)
    firsts = [DAY_MIN, *ordered[len(ordered) - count + 1 :]]
    lasts = [*(first - 1 for first in firsts[1:]), DAY_MAX]
    return [DaySpan(first, last) for first, last in zip(firsts, lasts, strict=True)]


@dataclass
class Spill:
    """Sorted rows on local disk, by output; `firsts` are the first days of the outputs.

    Rows are added section by section, and read after the last one.
    """

    folder: Path
    firsts: Sequence[int]
    _writers: dict[int, pa.ipc.RecordBatchStreamWriter] = field(default_factory=dict)
    _signal: Signal | None = None
    _held: set[tuple[int, Signal]] = field(default_factory=set)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def add(self, signal: Signal, table: pa.Table) -> None:
        """Append sorted rows of a section, each to the output of its day."""
        if signal != self._signal:
            self._close()
            self._signal = signal
        days = distinct_days(table["timestamp"])
        outputs = pa.array([bisect_right(self.firsts, day) - 1 for day in days], pa.int32())
        value_set = pa.array(days, pa.int32())
        owners = outputs.take(pc.index_in(day_numbers(table["timestamp"]), value_set=value_set))
        counted: Any = pc.value_counts(owners)
        counts = zip(*(counted.field(n).to_pylist() for n in (0, 1)), strict=True)
        rows = sort_owned(table, owners, ())
        start = 0
        for number, count in sorted(counts):
            self._append(signal, number, rows.slice(start, count))
            start += count

    def signals(self, number: int) -> list[Signal]:
        """Sections of which an output has rows."""
        return [signal for signal in SIGNALS if (number, signal) in self._held]

    def tables(self, number: int, signal: Signal) -> Iterator[pa.Table]:
        """Read an output's rows of one section in order, and remove them."""
        path = self._path(number, signal)
        with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as reader:
            for batch in reader:
                yield pa.Table.from_batches([batch])
        path.unlink()

    def write(self, number: int, writer: SegmentWriter) -> None:
        """Write an output's rows, section by section, and remove them."""
        for signal in self.signals(number):
            for table in self.tables(number, signal):
                writer.write(signal, table)

    def _append(self, signal: Signal, number: int, rows: pa.Table) -> None:
        if number not in self._writers:
            self._held.add((number, signal))
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            path = str(self._path(number, signal))
            self._writers[number] = pa.ipc.new_stream(path, rows.schema, options=options)
        for batch in rows.to_batches():
            # A slice keeps the whole block's dictionaries.
            self._writers[number].write_batch(compact(batch))

    def _close(self) -> None:
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def _path(self, number: int, signal: Signal) -> Path:
        return self.folder / f"spill-{number}-{signal}.arrow"
