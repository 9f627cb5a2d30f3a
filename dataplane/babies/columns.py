"""Decoded rows of one dataset, held until they are written."""

from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa

from dataplane.babies.deduplication import SeenEvents
from dataplane.babies.reads import DatasetWork
from segments.offsets import OffsetSpan, spans_of_babies
from segments.parquet.sorting import shrink
from segments.signals import SIGNALS, Signal


@dataclass(frozen=True, slots=True)
class Rows:
    """Consecutive rows of a decoded table, from `start` to before `stop`.

    `size_bytes` is an estimate of their size in memory.
    """

    source: pa.Table
    start: int
    stop: int
    size_bytes: int

    @property
    def table(self) -> pa.Table:
        """The rows alone."""
        return self.source.slice(self.start, self.stop - self.start)


@dataclass(slots=True)
class DatasetColumns:
    """Decoded rows of one dataset that are not written yet, and the babies they come from."""

    tables: dict[Signal, list[Rows]] = field(default_factory=dict)
    babies: set[tuple[str, int]] = field(default_factory=set)
    size_bytes: int = 0
    otlp_bytes: int = 0
    last_signal: Signal | None = None

    def add(self, signal: Signal, rows: Rows) -> None:
        """Append rows of one signal."""
        self.tables.setdefault(signal, []).append(rows)
        self.last_signal = signal
        self.size_bytes += rows.size_bytes

    def add_source(self, stream_id: str, offset: int, otlp_bytes: int) -> None:
        """Record the baby that rows come from, and the size of their payload."""
        self.babies.add((stream_id, offset))
        self.otlp_bytes += otlp_bytes

    def take_front(self) -> "DatasetColumns":
        """Take all but the last table; empty if there is only one.

        The table that stays guarantees a last file for the batch. Both halves name all babies:
        together they are one batch.
        """
        if self.last_signal is None or sum(map(len, self.tables.values())) < 2:
            return DatasetColumns()
        signal, last = self.last_signal, self.tables[self.last_signal].pop()
        tables = {key: rows for key, rows in self.tables.items() if rows}
        size_bytes = self.size_bytes - last.size_bytes
        front = DatasetColumns(tables, set(self.babies), size_bytes, self.otlp_bytes)
        self.tables, self.size_bytes = {}, 0
        self.add(signal, last)
        return front

    @property
    def rows(self) -> int:
        """Number of rows of all signals."""
        return sum(rows.stop - rows.start for ranges in self.tables.values() for rows in ranges)

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The signals present, in the order of a file."""
        return tuple(signal for signal in SIGNALS if signal in self.tables)

    def lineage(self) -> tuple[OffsetSpan, ...]:
        """The offset ranges of the babies, for the footer."""
        return spans_of_babies(self.babies)

    def joined(self) -> dict[Signal, pa.Table]:
        """One table per signal."""
        return {
            signal: pa.concat_tables(
                shrink(rows.table) for rows in self.tables[signal]
            ).unify_dictionaries()
            for signal in self.signals
        }


@dataclass(slots=True, eq=False)
class DecodedDataset:
    """A dataset that takes decoded rows; `index` is its place among those of a pass.

    `unconverted` counts attribute values that do not fit their typed column, by column. `events`
    are set for a dataset that is deduplicated.
    """

    index: int
    work: DatasetWork
    columns: DatasetColumns = field(default_factory=DatasetColumns)
    unconverted: Counter[str] = field(default_factory=Counter)
    events: SeenEvents | None = None
