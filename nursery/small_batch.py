"""Makes the files of many small datasets: what they have in common is done once for all of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from nursery.segment_files import DAY_NANOS, PRODUCER, DatasetColumns
from nursery.tasks import DatasetWork
from segments.ids import new_uuid7
from segments.otlp.arrow import make, pc
from segments.parquet.footer import BatchPart, SegmentFooter
from segments.parquet.schema import SegmentSpec
from segments.parquet.small_writer import SMALL_ROWS_MAX, SmallSection, SmallSegment, small_format
from segments.parquet.sorting import shrink
from segments.signals import SIGNALS, Signal

# OTLP of one dataset.
SMALL_BYTES_MAX = 2 * 1024 * 1024
# OTLP and rows of those that are brought into order together. A row of a file of all signals has 60
# columns: 30 MB for so many rows, be they empty.
TOGETHER_BYTES_MAX = 16 * 1024 * 1024
TOGETHER_ROWS_MAX = 65_536


@dataclass(frozen=True, slots=True)
class Small:
    """A dataset, by the index of its work, that one small file is enough for."""

    index: int
    work: DatasetWork
    columns: DatasetColumns

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The signals it has, in the order of a file."""
        return tuple(signal for signal in SIGNALS if signal in self.columns.tables)


def is_small(columns: DatasetColumns) -> bool:
    """Say whether a dataset goes together with others."""
    return columns.otlp_bytes <= SMALL_BYTES_MAX and columns.rows <= SMALL_ROWS_MAX


def bundles(found: Iterable[Small]) -> Iterator[tuple[Small, ...]]:
    """Group datasets whose files have the same columns and order."""
    alike: dict[tuple[tuple[Signal, ...], SegmentSpec], list[Small]] = {}
    for small in found:
        alike.setdefault((small.signals, small.work.spec), []).append(small)
    for group in alike.values():
        bundle: list[Small] = []
        size_bytes = rows = 0
        for small in group:
            size_bytes += small.columns.otlp_bytes
            rows += small.columns.rows
            if bundle and (size_bytes > TOGETHER_BYTES_MAX or rows > TOGETHER_ROWS_MAX):
                yield tuple(bundle)
                bundle, size_bytes, rows = [], small.columns.otlp_bytes, small.columns.rows
            bundle.append(small)
        yield tuple(bundle)


class Bundle:
    """The rows of some datasets, in order and cut apart."""

    def __init__(self, smalls: Sequence[Small]) -> None:
        """Sort them; raises NotSmall if they are too much to hold at once."""
        first = smalls[0]
        self._format = small_format(first.signals, first.work.spec)
        self._sections: list[dict[Signal, SmallSection]] = [{} for _ in smalls]
        for signal in first.signals:
            table, owners = _joined(signal, smalls)
            for place, section in self._format.sections(signal, table, owners):
                self._sections[place][signal] = section

    def make(self, place: int, small: Small) -> SmallSegment | None:
        """Make the file of one of them; None if it has to be several, one for each day."""
        sections = self._sections[place]
        if not _is_one_day(sections):
            return None
        footer = SegmentFooter(
            dataset_id=small.work.dataset_id,
            producer=PRODUCER,
            batches=(BatchPart(str(new_uuid7()), 1, 1),),
            ranges=small.columns.lineage(),
        )
        return self._format.write(sections, footer)


def _joined(signal: Signal, smalls: Sequence[Small]) -> tuple[pa.Table, Any]:
    """Rows of one signal of all datasets, and each row's dataset by its place.

    Datasets that follow one another lie so in the tables of a pass: a slice holds many of them.
    """
    spans: dict[int, list[tuple[int, int, int]]] = {}
    sources: dict[int, pa.Table] = {}
    for place, small in enumerate(smalls):
        for rows in small.columns.tables[signal]:
            sources[id(rows.source)] = rows.source
            spans.setdefault(id(rows.source), []).append((rows.start, rows.stop, place))
    slices: list[pa.Table] = []
    places: list[int] = []
    ends: list[int] = []
    end = 0
    for number, found in spans.items():
        found.sort()
        for start, stop, place in found:
            end += stop - start
            places.append(place)
            ends.append(end)
        slices.extend(sources[number].slice(a, b - a) for a, b in _merged(found))
    runs: Any = pa.RunEndEncodedArray
    owners = pc.run_end_decode(
        runs.from_arrays(make.array(ends, pa.int32()), make.array(places, pa.int32()))
    )
    return pa.concat_tables(map(shrink, slices)), owners


def _merged(spans: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int]]:
    """Join spans that touch; they are in order."""
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
