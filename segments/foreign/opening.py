"""Opens a registered file, of ours or of others, by what meta knows of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from segments.errors import CorruptObject
from segments.foreign.file import OWN_KEYS, ForeignFile
from segments.foreign.origin import FileOrigin, RegisteredFile
from segments.parquet.reader import SegmentFile, corruption_found

_BATCH_ROWS = 8_192
Rows = SegmentFile | ForeignFile
# Opens a file from its beginning, as `ObjectStore.open_input` does.
OpenFile = Callable[[], Any]


def open_rows(open_file: OpenFile, origin: FileOrigin, registered: RegisteredFile) -> Rows:
    """Open a file that is not to be skipped; raises CorruptObject."""
    if origin is FileOrigin.SEGMENT or (
        origin is FileOrigin.UNREAD and claims_to_be_segment(open_file)
    ):
        return SegmentFile(open_file())
    return ForeignFile(open_file(), registered)


def claims_to_be_segment(open_file: OpenFile) -> bool:
    """Return true if a file's footer has a segment's metadata; raises CorruptObject."""
    with open_file() as source, corruption_found("not a readable Parquet file"):
        metadata = pq.read_metadata(pa.PythonFile(source, mode="r")).metadata
        return any(key.startswith(OWN_KEYS) for key in metadata or ())


def examined(open_file: OpenFile, registered: RegisteredFile) -> ForeignFile | str | None:
    """Read a file that a client registered without facts once, whole.

    Returns its mapping, which is closed; the reason why readers leave it out; or None for a
    segment, sound or damaged. Raises OSError and StoreError if the store gives no answer.
    """
    try:
        if claims_to_be_segment(open_file):
            return None
        with ForeignFile(open_file(), registered) as rows:
            rows.check_rows()
            return rows
    except CorruptObject as error:
        return reason_of(error)


def check_pages(open_file: OpenFile) -> None:
    """Decode every page of a Parquet file that is not a segment; raises CorruptObject."""
    with open_file() as source, corruption_found("its pages cannot be read"):
        file = pq.ParquetFile(pa.PythonFile(source, mode="r"))
        for _ in file.iter_batches(batch_size=_BATCH_ROWS, use_threads=False):
            pass


def reason_of(error: BaseException) -> str:
    """Return an error as one short line of printable text."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(error)).split())
    return line[:500] or type(error).__name__
