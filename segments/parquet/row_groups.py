"""Buffers of a segment's writer: row groups in memory, and the file with its checksum."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import google_crc32c
import pyarrow as pa

from segments.parquet.sorting import compact

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

GROUP_ROWS_MAX = 131_072
# Also keeps a row group's strings far below the 2 GiB that Arrow's 32-bit offsets reach.
GROUP_BYTES_MAX = 64 * 1024 * 1024


class RowGroup:
    """Rows that wait for their row group to be full."""

    def __init__(self) -> None:
        self.rows = 0
        self._bytes = 0
        self._batches: list[pa.RecordBatch] = []

    @property
    def is_full(self) -> bool:
        """Whether the rows fill a row group."""
        return self.rows >= GROUP_ROWS_MAX or self._bytes >= GROUP_BYTES_MAX

    def fitting(self, batch: pa.RecordBatch, guess: int) -> pa.RecordBatch:
        """Cut off the leading rows of a batch that have room; at least one in an empty group.

        `guess` is how many may fill a group: halving alone would leave half of it empty.
        """
        rows = min(batch.num_rows, GROUP_ROWS_MAX - self.rows, guess)
        while rows:
            # With the dictionary of the whole batch no second row might ever have room.
            part = _compact(batch.slice(0, rows))
            if self._bytes + part.nbytes <= GROUP_BYTES_MAX:
                return part
            rows //= 2
        return _compact(batch.slice(0, 0 if self.rows else 1))

    def add(self, batch: pa.RecordBatch) -> None:
        """Append rows that have room."""
        self.rows += batch.num_rows
        self._bytes += batch.nbytes
        self._batches.append(batch)

    def as_table(self, texts: Collection[str] = ()) -> pa.Table:
        """Join the rows; each dictionary column has one dictionary, without repeated values.

        Those of `texts` may have repeated and unused values.
        """
        if len(self._batches) == 1:
            return pa.Table.from_batches([compact(self._batches[0], but_for=texts)])
        return pa.Table.from_batches(self._batches).unify_dictionaries()


class GroupBuffer:
    """Cuts a stream of batches into row groups.

    `texts` are dictionary columns that the file stores as texts: their dictionaries are not stored,
    and to compact those of ten typed columns took 7 % of a nursery's task.
    """

    def __init__(self, texts: Collection[str] = ()) -> None:
        self._texts = texts
        self._pending = RowGroup()

    def push(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """Take in rows; yields every row group that they fill."""
        batch = _compact(batch)
        # Measured on the whole: a slice's dictionary is still that of all rows.
        guess = max(1, int(0.95 * batch.num_rows * GROUP_BYTES_MAX / max(1, batch.nbytes)))
        while batch.num_rows:
            part = self._pending.fitting(batch, guess)
            if part.num_rows:
                self._pending.add(part)
                batch = batch.slice(part.num_rows)
            if batch.num_rows or self._pending.is_full:
                yield from self.flush()

    def flush(self) -> Iterator[pa.Table]:
        """Yield the remaining rows, if any."""
        if self._pending.rows:
            group, self._pending = self._pending, RowGroup()
            yield group.as_table(self._texts)


def _compact(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Drop data that no row uses if that makes a difference to a row group."""
    return compact(batch, GROUP_BYTES_MAX // 8)


class ChecksumSink(io.RawIOBase):
    """A new local file that computes its checksum and size while it is written."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._file = path.open("xb")
        self._is_abandoned = False
        self.crc32c = 0
        self.size_bytes = 0

    def writable(self) -> bool:
        """Return true, as a file open for writing does."""
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        """Append bytes and extend the checksum over them."""
        content = data if isinstance(data, bytes) else bytes(data)
        if not self._is_abandoned:
            self._file.write(content)
            self.crc32c = google_crc32c.extend(self.crc32c, content)
            self.size_bytes += len(content)
        return len(content)

    def abandon(self) -> None:
        """Write nothing any more and remove the file."""
        self._is_abandoned = True
        self._path.unlink(missing_ok=True)

    def tell(self) -> int:
        """Return the bytes written."""
        return self.size_bytes

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
