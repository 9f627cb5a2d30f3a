"""A scanner of rows that our own code makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa


class JoinedRows:
    """A scanner of rows that our own code makes, as far as readers use one.

    It runs in the thread of the reader. A scanner of Arrow's would run it in one of Arrow's eight
    threads for reads, where it waits for others of them: four such scans of one query waited for
    each other for ever.
    """

    def __init__(
        self, projected_schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]]
    ) -> None:
        self.projected_schema = projected_schema
        self._batches = batches

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Read batch by batch."""
        return self._batches()

    def to_reader(self) -> pa.RecordBatchReader:
        """Return a reader of the batches."""
        return pa.RecordBatchReader.from_batches(self.projected_schema, self._batches())

    def to_table(self) -> pa.Table:
        """Read everything into memory."""
        return self.to_reader().read_all()

    def count_rows(self) -> int:
        """Count the rows."""
        return sum(batch.num_rows for batch in self._batches())

    def head(self, num_rows: int) -> pa.Table:
        """Read the first rows."""
        batches: list[pa.RecordBatch] = []
        for batch in self._batches():
            batches.append(batch[: num_rows - sum(b.num_rows for b in batches)])
            if sum(b.num_rows for b in batches) >= num_rows:
                break
        return pa.Table.from_batches(batches, self.projected_schema)

    def take(self, indices: Any) -> pa.Table:
        """Read rows by their places."""
        return self.to_table().take(indices)
