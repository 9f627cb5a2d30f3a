"""Map of a dataset's segments: time across, size up, coloured by generation.

A segment is in the cell of its middle time and its size. Cells are computed from at most 20,000
segments, and a map is shared for a minute.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from meta.client import MetaClient
from meta.v1 import common_pb2, segment_lookup_pb2
from segplane.gateway.management.times import text_of
from segplane.read.lookup import find_pages
from segplane.terminal.plain_text import size_text

SEGMENTS_PATH = "/ui/dataset/segments"
SEGMENTS_MAX = 20_000
MAP_SECS = 60.0
COLUMNS, CELL_WIDTH, CELL_HEIGHT = 48, 20, 24
# Upper bounds of the classes of size in bytes, the last one has none.
_BOUNDS = tuple(2**power for power in (16, 20, 22, 24, 26, 28, 30))
# The last generation has all that were merged more often.
GENERATIONS = ("not merged", "merged once", "merged twice", "merged more often")
_PAGE = 10_000


@dataclass(frozen=True, slots=True)
class MapCell:
    """Segments of a part of the time and a class of size; its generation is the most frequent."""

    x: int
    y: int
    generation: int
    text: str


@dataclass(frozen=True, slots=True)
class SizeRow:
    """Segments of a class of size, by generation, and their bytes."""

    name: str
    segments: Sequence[int]
    size: str


@dataclass(frozen=True, slots=True)
class SegmentMap:
    """Cells of the map, the same numbers as rows, and the times that it spans."""

    dataset: str
    segments: int
    is_cut: bool
    start: str
    end: str
    cells: Sequence[MapCell]
    rows: Sequence[SizeRow]

    @property
    def height(self) -> int:
        """Return the height of the drawing."""
        return CELL_HEIGHT * (len(_BOUNDS) + 1)


def read_map(client: MetaClient, dataset: str) -> SegmentMap:
    """Read the segments of a dataset, and count them by cell. Raises MetaError."""
    request = segment_lookup_pb2.FindSegmentsRequest(dataset_names=[dataset], limit=_PAGE)
    every = (segment for page in find_pages(client, request) for segment in page.segments)
    segments = list(islice(every, SEGMENTS_MAX + 1))
    return map_of(dataset, segments[:SEGMENTS_MAX], is_cut=len(segments) > SEGMENTS_MAX)


def map_of(dataset: str, segments: Sequence[common_pb2.SegmentInfo], *, is_cut: bool) -> SegmentMap:
    """Count segments by cell."""
    if not segments:
        return SegmentMap(dataset, 0, is_cut, "", "", (), ())
    start = min(each.time_range.start_time for each in segments)
    end = max(each.time_range.end_time for each in segments)
    length = max(1, end - start)
    cells: dict[tuple[int, int], Counter[int]] = {}
    sizes = Counter[int]()
    for each in segments:
        middle = (each.time_range.start_time + each.time_range.end_time) // 2
        column = min(COLUMNS - 1, (middle - start) * COLUMNS // length)
        size = _size_class(each.compressed_size_bytes)
        generation = min(each.merge_count, len(GENERATIONS) - 1)
        cells.setdefault((column, size), Counter())[generation] += 1
        sizes[size] += each.compressed_size_bytes
    return SegmentMap(
        dataset,
        len(segments),
        is_cut,
        text_of(start),
        text_of(end),
        [_cell(position, counts, start, length) for position, counts in sorted(cells.items())],
        list(_rows(cells, sizes)),
    )


def _cell(position: tuple[int, int], counts: Counter[int], start: int, length: int) -> MapCell:
    column, size = position
    ((generation, _),) = counts.most_common(1)
    of_each = ", ".join(f"{counts[n]:,} {GENERATIONS[n]}" for n in sorted(counts))
    begins = text_of(start + length * column // COLUMNS)
    return MapCell(
        column * CELL_WIDTH,
        (len(_BOUNDS) - size) * CELL_HEIGHT,
        generation,
        f"{_class_name(size)} from {begins}: {of_each}",
    )


def _rows(cells: Mapping[tuple[int, int], Counter[int]], sizes: Counter[int]) -> Sequence[SizeRow]:
    totals: dict[int, Counter[int]] = {}
    for (_, size), counts in cells.items():
        totals.setdefault(size, Counter()).update(counts)
    return [
        SizeRow(
            _class_name(size),
            [totals[size][generation] for generation in range(len(GENERATIONS))],
            size_text(sizes[size]),
        )
        for size in sorted(totals, reverse=True)
    ]


def _size_class(size_bytes: int) -> int:
    return sum(size_bytes >= bound for bound in _BOUNDS)


def _class_name(size: int) -> str:
    if size == len(_BOUNDS):
        return f"{size_text(_BOUNDS[-1])} and more"
    return f"below {size_text(_BOUNDS[size])}"
