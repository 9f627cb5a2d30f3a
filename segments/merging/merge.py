"""Merges sorted segments of one dataset into one, section by section, in bounded memory.

Of each input one batch of rows is held. The batch that ends first is used up and replaced by the
next of its input, some times over; then every row that is not above the last of those ends is
sorted as a block and handed to the writer. Inputs in another order become sorted runs first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from segments.errors import CorruptObject, ObjectMissing, SegmentsError
from segments.foreign.file import ForeignFile
from segments.foreign.opening import Rows, open_rows
from segments.foreign.origin import RegisteredFile
from segments.merging.inputs import MergeInput, check_outputs
from segments.merging.kway_merge import BLOCK_BATCHES, NotSorted, merge_sorted
from segments.merging.runs import sorted_runs
from segments.merging.schema_adapter import SectionAdapter
from segments.parquet.columns.stored_times import widened_bounds
from segments.parquet.footer import FORMAT_VERSION, SegmentFacts, SegmentFooter, merged_footer
from segments.parquet.spec import SegmentSpec
from segments.parquet.writer import SegmentWriter
from segments.signals import SIGNALS, Signal
from segments.store.interface import ObjectStore

if TYPE_CHECKING:
    from segments.token_index.builder import TokenIndexBuilder

# Each merge makes its index again and takes half as long again for it. Files of smaller ones are
# merged again soon. Either is enough: 64 MiB of long records are few rows.
INDEXED_ROWS_MIN = 1_000_000
INDEXED_BYTES_MIN = 64 * 1024 * 1024
# Bytes of one input at a time; less when many inputs or runs share the task's memory.
BATCH_BYTES_MAX = 8 * 1024 * 1024
BATCH_ROWS_MIN = 256
# Half of this takes 8 % more CPU in all, twice of it 3 % less and 150 MB more with 12 inputs.
BATCH_ROWS_MAX = 8_192


def index_builder(
    inputs: Sequence[MergeInput],
    rows_min: int = INDEXED_ROWS_MIN,
    bytes_min: int = INDEXED_BYTES_MIN,
) -> TokenIndexBuilder | None:
    """Return what builds the index of an output of a merge; None if it gets none."""
    rows, size_bytes = sum(i.rows for i in inputs), sum(i.size_bytes for i in inputs)
    if rows < rows_min and size_bytes < bytes_min:
        return None
    # numpy takes a tenth of a second to import.
    from segments.token_index.builder import TokenIndexBuilder

    return TokenIndexBuilder()


class InputFailed(SegmentsError):
    """One input cannot be merged by any worker: its bytes or its facts are wrong."""

    def __init__(self, segment_id: str, message: str) -> None:
        super().__init__(f"segment {segment_id}: {message}")
        self.segment_id = segment_id
        self.message = message


@dataclass(frozen=True, slots=True)
class MergeOrder:
    """A request to merge segments. `memory_bytes` bounds the batches held at once, before decoding.

    `progress` gets the rows merged so far. `format_version` and `new_index` are for the outputs.
    """

    dataset_id: str
    producer: str
    spec: SegmentSpec
    memory_bytes: int = 128 * 1024 * 1024
    progress: Callable[[int], None] = lambda _rows: None
    format_version: int = FORMAT_VERSION
    new_index: Callable[[Sequence[MergeInput]], TokenIndexBuilder | None] = index_builder


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The finished file's facts, and how many attributes did not fit their promoted column."""

    facts: SegmentFacts
    unconverted: int


def merge_segments(
    store: ObjectStore, inputs: Sequence[MergeInput], order: MergeOrder, folder: Path
) -> MergeResult:
    """Merge inputs into `folder`/merged.parquet, the bag of their rows preserved exactly.

    Raises InputFailed if one input is to blame; StoreUnavailable passes through.
    """
    path, index = folder / "merged.parquet", order.new_index(inputs)
    with (
        open_merge(store, inputs, order, folder) as merge,
        SegmentWriter(path, merge.signals, order.spec, merge.footer, index=index) as writer,
    ):
        for signal, table in merge.tables():
            writer.write(signal, table)
        facts = writer.close(merge.unusable)
    check_outputs([facts], merge.registered)
    return MergeResult(facts, merge.unconverted)


@contextmanager
def open_merge(
    store: ObjectStore, inputs: Sequence[MergeInput], order: MergeOrder, folder: Path
) -> Iterator[OpenMerge]:
    """Open the inputs of a merge and compare their footers with their registrations."""
    with ExitStack() as stack:
        opened = [_open(stack, store, item, order.dataset_id) for item in inputs]
        footers = (item.segment.stored.footer for item in opened)
        footer = merged_footer(order.dataset_id, order.producer, footers)
        footer = replace(footer, format_version=order.format_version)
        yield OpenMerge(opened, order, folder, footer, unusable=set(footer.unusable))


@dataclass(slots=True)
class OpenMerge:
    """A merge whose inputs are open; `footer` is that of an output that holds all of it."""

    _inputs: Sequence[_Opened]
    _order: MergeOrder
    _folder: Path
    footer: SegmentFooter
    # Attributes that did not fit their promoted column, counted by `tables`.
    unconverted: int = 0
    # Automatic columns that are so in an input, or that `tables` finds to be.
    unusable: set[str] = field(default_factory=set)

    @property
    def registered(self) -> list[MergeInput]:
        """The inputs as their rows are: a file of others may be registered with wider bounds."""
        return [item.registered for item in self._inputs]

    @property
    def signals(self) -> set[Signal]:
        """The sections of which any input has rows."""
        return {signal for item in self._inputs for signal in item.segment.signals}

    def days(self) -> set[int]:
        """Return the UTC days since 1970 that hold rows; reads the times only."""
        days: set[int] = set()
        for item in self._inputs:
            with _blame(item.registered):
                days |= item.segment.days()
        return days

    def tables(self) -> Iterator[tuple[Signal, pa.Table]]:
        """Merge section by section, in the order of SIGNALS; to be read once, to its end.

        Columns are as the order's format stores them.
        """
        rows = 0
        for signal in SIGNALS:
            sections = [
                _Section(item, self._order, signal, self.unusable)
                for item in self._inputs
                if item.has(signal)
            ]
            for table in _merge_section(sections, self._order.memory_bytes, self._folder):
                yield signal, table
                rows += table.num_rows
                self._order.progress(rows)
            self.unconverted += sum(section.adapter.unconverted for section in sections)
        for item in self._inputs:
            with _blame(item.registered):
                item.check_hull()


@dataclass(slots=True)
class _Opened:
    """An input whose footer agrees with its registration; `time_bounds` of the rows read."""

    registered: MergeInput
    segment: Rows
    time_bounds: tuple[int, int] | None = None

    def has(self, signal: Signal) -> bool:
        return signal in self.segment.signals

    def take_times(self, batch: pa.RecordBatch, remainder: str | None) -> None:
        """Widen the time bounds; raises CorruptObject for a time outside the registered bounds.

        `remainder` is the name of the column of nanoseconds left from the times, if there is one.
        """
        times = batch.column("timestamp")
        if times.null_count:
            raise CorruptObject(f"{times.null_count} rows have no timestamp")
        remaining_nanos = None if remainder is None else batch.column(remainder)
        low, high = self.time_bounds = widened_bounds(self.time_bounds, times, remaining_nanos)
        start, end = self.registered.start_time, self.registered.end_time
        if low < start or high > end:
            raise CorruptObject(f"holds times {low}..{high} outside {start}..{end}")

    def check_hull(self) -> None:
        """Raise CorruptObject if its rows do not reach the registered bounds."""
        expected = (self.registered.start_time, self.registered.end_time)
        if self.time_bounds not in (None, expected):
            raise CorruptObject(f"its rows lie in {self.time_bounds}, registered is {expected}")


class _Section:
    """One signal's rows of one input, adapted as they are read."""

    def __init__(
        self, opened: _Opened, order: MergeOrder, signal: Signal, unusable: set[str]
    ) -> None:
        self.opened = opened
        self.signal = signal
        self._format_version = order.format_version
        self.adapter = SectionAdapter(
            opened.segment, order.spec, signal, order.format_version, unusable
        )

    @property
    def bytes_per_row(self) -> float:
        segment = self.opened.segment
        return max(1.0, segment.section_bytes(self.signal) / segment.rows(self.signal))

    def batches(self, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Read the section; raises InputFailed if its rows are not those of its footer."""
        segment, registered = self.opened.segment, self.opened.registered
        with _blame(registered):
            for batch in segment.stored_batches(self.signal, self._format_version, batch_rows):
                adapted = self.adapter.apply(batch)
                self.opened.take_times(adapted, self.adapter.remainder("timestamp"))
                yield adapted


@contextmanager
def _blame(registered: MergeInput) -> Iterator[None]:
    try:
        yield
    except (CorruptObject, ObjectMissing) as error:
        raise InputFailed(registered.segment_id, f"{registered.key}: {error}") from error


def _open(stack: ExitStack, store: ObjectStore, item: MergeInput, dataset_id: str) -> _Opened:
    with _blame(item):
        segment = _rows(store, item, dataset_id)
        stack.callback(segment.close)
        stored = segment.stored
        if isinstance(segment, ForeignFile):
            item = replace(item, start_time=stored.start_time, end_time=stored.end_time)
        if stored.footer.dataset_id != dataset_id:
            raise CorruptObject(f"belongs to dataset {stored.footer.dataset_id}, not {dataset_id}")
        says = (stored.rows, stored.start_time, stored.end_time)
        expected = (item.rows, item.start_time, item.end_time)
        if says != expected:
            raise CorruptObject(
                f"the footer says (rows, start, end) {says}, registered are {expected}"
            )
    return _Opened(item, segment)


def _rows(store: ObjectStore, item: MergeInput, dataset_id: str) -> Rows:
    registered = RegisteredFile(
        item.segment_id, dataset_id, item.rows, item.start_time, item.end_time, item.time_column
    )
    return open_rows(lambda: store.open_input(item.key), item.origin, registered)


def _merge_section(
    sections: Sequence[_Section], memory_bytes: int, folder: Path
) -> Iterator[pa.Table]:
    if not sections:
        return
    share = min(BATCH_BYTES_MAX, memory_bytes // (len(sections) + BLOCK_BATCHES))
    # Within a section all signals are equal.
    keys = tuple(name for name in sections[0].adapter.keys if name != "signal")
    sources: list[Iterator[pa.RecordBatch]] = []
    owners: list[MergeInput] = []
    for number, section in enumerate(sections):
        fitting_rows = int(share / section.bytes_per_row)
        batch_rows = max(BATCH_ROWS_MIN, min(BATCH_ROWS_MAX, fitting_rows))
        if section.adapter.is_sorted:
            sources.append(section.batches(batch_rows))
            owners.append(section.opened.registered)
            continue
        path = folder / f"runs-{section.signal}-{number}.parquet"
        runs = sorted_runs(section.batches(batch_rows), keys, path)
        # Each run becomes a source, so the section's share is theirs together.
        run_rows = max(BATCH_ROWS_MIN, batch_rows // max(1, len(runs)))
        sources.extend(run.batches(run_rows) for run in runs)
        owners.extend(section.opened.registered for _ in runs)
    try:
        yield from merge_sorted(sources, keys)
    except NotSorted as error:
        owner = owners[error.source]
        raise InputFailed(owner.segment_id, f"{owner.key}: {error}") from error
