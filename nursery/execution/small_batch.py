"""Encodes the files of many small datasets: rows are joined and sorted once for all of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from dataplane.babies.columns import DatasetColumns
from nursery.execution.dataset_execution import DatasetExecution
from nursery.execution.segment_files import DAY_NANOS
from segments.ids import new_uuid7
from segments.otlp.arrow import make, pc
from segments.parquet.lineage import BatchPart
from segments.parquet.small_writer import SMALL_ROWS_MAX, SmallSection, SmallSegment, small_format
from segments.parquet.sorting import shrink
from segments.parquet.spec import SegmentSpec
from segments.signals import Signal

# OTLP of one small dataset.
SMALL_BYTES_MAX = 2 * 1024 * 1024
# OTLP and rows of the datasets that are sorted together. A row of a file of all signals has 60
# columns: this many rows take 30 MB even if they are empty.
BATCH_BYTES_MAX = 16 * 1024 * 1024
BATCH_ROWS_MAX = 65_536


@dataclass(frozen=True, slots=True)
class SmallDataset:
    """A dataset whose columns fit one small file."""

    dataset: DatasetExecution
    columns: DatasetColumns


def is_small(columns: DatasetColumns) -> bool:
    """Whether a dataset is written together with others."""
    return columns.otlp_bytes <= SMALL_BYTES_MAX and columns.rows <= SMALL_ROWS_MAX


def group_small(smalls: Iterable[SmallDataset]) -> Iterator[tuple[SmallDataset, ...]]:
    """Group datasets whose files have equal columns and sort order, within the limits."""
    alike: dict[tuple[tuple[Signal, ...], SegmentSpec], list[SmallDataset]] = {}
    for small in smalls:
        alike.setdefault((small.columns.signals, small.dataset.work.spec), []).append(small)
    for datasets in alike.values():
        group: list[SmallDataset] = []
        size_bytes = rows = 0
        for small in datasets:
            size_bytes += small.columns.otlp_bytes
            rows += small.columns.rows
            if group and (size_bytes > BATCH_BYTES_MAX or rows > BATCH_ROWS_MAX):
                yield tuple(group)
                group, size_bytes, rows = [], small.columns.otlp_bytes, small.columns.rows
            group.append(small)
        yield tuple(group)


class SmallBatch:
    """The rows of a group of datasets: sorted, then cut into each one's sections."""

    def __init__(self, smalls: Sequence[SmallDataset]) -> None:
        """Sort the rows; raises NotSmall if they are too many to hold at once."""
        first = smalls[0]
        self._smalls = smalls
        self._format = small_format(first.columns.signals, first.dataset.work.spec)
        self._sections: list[dict[Signal, SmallSection]] = [{} for _ in smalls]
        for signal in first.columns.signals:
            table, owners = _joined(signal, smalls)
            for index, section in self._format.sections(signal, table, owners):
                self._sections[index][signal] = section

    def segment(self, index: int) -> SmallSegment | None:
        """Encode the file of one dataset; None if it needs several, one for each day."""
        small, sections = self._smalls[index], self._sections[index]
        if not _is_one_day(sections):
            return None
        batch = BatchPart(str(new_uuid7()), 1, 1)
        footer = replace(small.dataset.footer(small.columns), batches=(batch,))
        return self._format.write(sections, footer)


def _joined(signal: Signal, smalls: Sequence[SmallDataset]) -> tuple[pa.Table, Any]:
    """Rows of one signal of all datasets, and for each row the place of its dataset.

    Neighbouring datasets are neighbours in the table of a decoding pass, so one slice covers many.
    """
    spans: dict[int, list[tuple[int, int, int]]] = {}
    sources: dict[int, pa.Table] = {}
    for index, small in enumerate(smalls):
        for rows in small.columns.tables[signal]:
            sources[id(rows.source)] = rows.source
            spans.setdefault(id(rows.source), []).append((rows.start, rows.stop, index))
    slices: list[pa.Table] = []
    places: list[int] = []
    ends: list[int] = []
    end = 0
    for number, source_spans in spans.items():
        source_spans.sort()
        for start, stop, index in source_spans:
            end += stop - start
            places.append(index)
            ends.append(end)
        slices.extend(sources[number].slice(a, b - a) for a, b in _merged(source_spans))
    runs: Any = pa.RunEndEncodedArray
    owners = pc.run_end_decode(
        runs.from_arrays(make.array(ends, pa.int32()), make.array(places, pa.int32()))
    )
    return pa.concat_tables(map(shrink, slices)), owners


def _merged(spans: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int]]:
    """Merge adjacent spans; the input is sorted."""
    first = last = -1
    for start, stop, _ in spans:
        if start != last:
            if last >= 0:
                yield first, last
            first = start
        last = stop
    yield first, last


def _is_one_day(sections: Mapping[Signal, SmallSection]) -> bool:
    first = min(section.start_time for section in sections.values())
    last = max(section.end_time for section in sections.values())
    return first // DAY_NANOS == last // DAY_NANOS
