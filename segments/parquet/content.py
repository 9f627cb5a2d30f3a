"""The content of a stored segment, read from its footer, whatever release wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from segments.facts import written
from segments.parquet.columns.stored_columns import FORMAT_NANOSECONDS
from segments.parquet.footer import (
    SectionContent,
    SegmentContent,
    StoredFooter,
    content_of,
    decode_footer,
)
from segments.parquet.reader import corruption_found, plain_bytes
from segments.parquet.sections import sections_of
from segments.signals import Signal
from segments.store.interface import ObjectStore


@dataclass(frozen=True, slots=True)
class ReadFooter:
    """A segment's footer; `content` is None if it lacks the time bounds of each signal.

    `size_bytes` is the size before compression.
    """

    stored: StoredFooter
    content: SegmentContent | None
    size_bytes: int

    @property
    def proven(self) -> SegmentContent | None:
        """The content with the facts that the footer proves, whichever release wrote the file."""
        content = self.content
        return content and replace(content, written=written.proven(content.written))


def read_content(store: ObjectStore, key: str) -> ReadFooter:
    """Read the footer of a segment and no row; raises CorruptObject, ObjectMissing."""
    with store.open_input(key) as source, corruption_found("not a readable Parquet file"):
        metadata = pq.read_metadata(pa.PythonFile(source, mode="r"))
    return _read(metadata)


def read_local_content(path: Path) -> ReadFooter:
    """Do the same with a local file; raises CorruptObject, OSError."""
    with corruption_found("not a readable Parquet file"):
        metadata = pq.read_metadata(path)
    return _read(metadata)


def _read(metadata: pq.FileMetaData) -> ReadFooter:
    stored = decode_footer(metadata.metadata)
    content = content_of(stored) or _counted(metadata, stored)
    return ReadFooter(stored, content, plain_bytes(metadata))


def _counted(metadata: pq.FileMetaData, stored: StoredFooter) -> SegmentContent | None:
    """The content of a file of 0.1.0: its row groups have the exact bounds of their times."""
    if stored.footer.format_version != FORMAT_NANOSECONDS:
        return None
    sections: dict[Signal, SectionContent] = {}
    for signal, parts in sections_of(metadata, stored).items():
        if any(part.is_shared for part in parts):
            return None
        bounds = [_time_bounds(metadata.row_group(part.row_group)) for part in parts]
        pairs = [pair for pair in bounds if pair is not None]
        if len(pairs) < len(bounds):
            return None
        start, end = min(low for low, _ in pairs), max(high for _, high in pairs)
        sections[signal] = SectionContent(stored.rows_by_signal[signal], start, end)
    return SegmentContent(FORMAT_NANOSECONDS, sections) if _agrees(sections, stored) else None


def _time_bounds(group: pq.RowGroupMetaData) -> tuple[int, int] | None:
    for number in range(group.num_columns):
        column = group.column(number)
        if column.path_in_schema == "timestamp":
            statistics = column.statistics
            if statistics is None or not statistics.has_min_max:
                return None
            low: Any = statistics.min_raw
            high: Any = statistics.max_raw
            return low, high
    return None


def _agrees(sections: Mapping[Signal, SectionContent], stored: StoredFooter) -> bool:
    """Whether the sections together are the file, as its footer has it."""
    start = min((section.start_time for section in sections.values()), default=None)
    end = max((section.end_time for section in sections.values()), default=None)
    return (start, end) == (stored.start_time, stored.end_time)
