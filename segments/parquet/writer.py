"""Writes one merged segment: a Parquet file on local disk, section after section."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pyarrow as pa
import pyarrow.compute as pc

from segments.parquet.columns.repetition import unrepeated_columns
from segments.parquet.columns.stored_columns import section_stored, wide_stored
from segments.parquet.columns.stored_times import widened_bounds
from segments.parquet.footer import (
    SegmentFacts,
    SegmentFooter,
    StoredFooter,
    encode_footer,
)
from segments.parquet.layout import ParquetLayout
from segments.parquet.reader import plain_bytes
from segments.parquet.row_groups import ChecksumSink, GroupBuffer
from segments.parquet.schema import TIMESTAMP, file_sort_columns, section_schema
from segments.parquet.spec import SegmentSpec
from segments.signals import SIGNALS, Signal
from segments.token_index.place import footer_entry

if TYPE_CHECKING:
    # numpy takes a tenth of a second to import.
    from segments.token_index.builder import TokenIndexBuilder


class SegmentWriter:
    """Writes a segment's sections in the order of SIGNALS to a new local file.

    A file is complete only after `close`; leaving the `with` block without it removes the file.
    """

    def __init__(
        self,
        path: Path,
        signals: Iterable[Signal],
        spec: SegmentSpec,
        footer: SegmentFooter,
        samples: Sequence[pa.Table] = (),
        index: "TokenIndexBuilder | None" = None,
    ) -> None:
        """Open the file, which must not exist; its columns are those of `signals`.

        The format is the one that `footer` names. `samples` are rows by which encodings of promoted
        columns are chosen; without them it is the first row group.
        """
        present = set(signals)
        self._signals = tuple(s for s in SIGNALS if s in present)
        self._spec = spec
        self._footer = footer
        self._stored = wide_stored(self._signals, spec.promoted, footer.format_version)
        self._order = file_sort_columns(spec, self._signals)
        self._sections = {s: self._schemas(s) for s in self._signals}
        self._rows: dict[Signal, int] = dict.fromkeys(self._signals, 0)
        self._times: dict[Signal, tuple[int, int]] = {}
        # Dictionaries of promoted columns have statistics, so the layout stores them as texts.
        self._samples = samples
        self._promoted = {column.name for column in spec.promoted}
        self._buffer = GroupBuffer(self._promoted)
        self._signal: Signal | None = None
        self._sink = ChecksumSink(path)
        self._writer: ParquetLayout | None = None
        self._index = index

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._sink.closed:
            # Arrow's writer finishes its file when it is collected; it finishes nothing then.
            self._sink.abandon()
            if self._writer:
                self._writer.close()
            self._sink.close()

    def write(self, signal: Signal, table: pa.Table) -> None:
        """Append sorted rows to a section; the schema is `section_schema(signal, promoted)`.

        Or the columns are as the file stores them already. Sections come in the order of SIGNALS;
        one section may come in many calls.
        """
        schemas = self._sections.get(signal)
        if not schemas or (self._signal and SIGNALS.index(signal) < SIGNALS.index(self._signal)):
            raise ValueError(f"section {signal} is out of order or not announced: {self._signals}")
        if table.schema not in schemas:
            raise ValueError(f"columns of {signal} are not those of the format: {table.schema}")
        if signal != self._signal:
            self._write_groups(self._buffer.flush())
            self._signal = signal
        for batch in table.to_batches():
            self._write_groups(self._buffer.push(batch))

    def close(self, unusable: Collection[str] = ()) -> SegmentFacts:
        """Write the footer and finish the file; a file must hold at least one row.

        `unusable` are automatic columns that were found to be so while the rows were made.
        """
        self._write_groups(self._buffer.flush())
        if self._writer is None:
            raise ValueError("a segment without rows is never written")
        stored = StoredFooter(
            replace(self._footer, unusable=self._footer.unusable | set(unusable)),
            dict(self._rows),
            min(start for start, _ in self._times.values()),
            max(end for _, end in self._times.values()),
            self._order,
            self._spec.promoted,
            self._spec.sharding_fields,
            dict(self._times),
            self._write_index(self._writer),
        )
        metadata = self._writer.close(encode_footer(stored))
        self._sink.close()
        sink = self._sink
        return SegmentFacts.of(stored, plain_bytes(metadata), sink.size_bytes, sink.crc32c)

    def _schemas(self, signal: Signal) -> tuple[pa.Schema, pa.Schema]:
        promoted = self._spec.promoted
        stored = section_stored(signal, promoted, self._footer.format_version)
        return section_schema(signal, promoted), stored.schema

    def _write_groups(self, groups: Iterable[pa.Table]) -> None:
        """Write row groups of the current section."""
        for group in groups:
            assert self._signal is not None
            self._note(self._signal, group)
            if self._writer is None:
                self._writer = ParquetLayout(
                    self._sink,
                    self._stored,
                    self._order,
                    group,
                    self._footer.deduplication,
                    unrepeated_columns(self._samples or [group], self._promoted),
                )
            self._writer.write(group)
            if self._index is not None:
                self._index.add(group, self._writer.size_bytes)

    def _write_index(self, writer: ParquetLayout) -> Mapping[str, object]:
        content = self._index.content() if self._index is not None else b""
        if self._index is None or not content:
            return {}
        return footer_entry(writer.write_beside(content), len(content))

    def _note(self, signal: Signal, group: pa.Table) -> None:
        """Count the rows, widen the time bounds; refuses rows of no section or without a time."""
        times = group["timestamp"]
        is_stored = times.type != TIMESTAMP
        remainder = group[self._stored.remainders["timestamp"]] if is_stored else None
        signals = pc.unique(group["signal"]).to_pylist()
        if times.null_count or signals != [signal]:
            raise ValueError(f"section {signal} holds signal {signals} or rows without a timestamp")
        self._times[signal] = widened_bounds(self._times.get(signal), times, remainder)
        self._rows[signal] += group.num_rows
