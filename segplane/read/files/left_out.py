"""Files of others that cannot be read as records: skipped, and named."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from meta.client import MetaClient
from meta.v1 import common_pb2
from segments.errors import ObjectMissing, SegmentsError
from segments.foreign.origin import FileOrigin
from segments.signals import Signal
from segplane.read.bounds import TimeBounds
from segplane.read.files.files import DatasetFile, ForeignMark, find_files
from segplane.read.lookup import object_key, segment_url

if TYPE_CHECKING:
    pass

MISSING = "there is no such object"
# Number of files that a caller is shown.
SHOWN_MAX = 20


class SegmentsLeftOut(UserWarning):
    """Readers skip an object that a client registered and that holds no readable records."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A registered file that is not read, and why."""

    dataset_name: str
    segment_id: str
    key: str
    version: int
    reason: str

    def __str__(self) -> str:
        return (
            f"dataset {self.dataset_name!r}: segment {self.segment_id} is skipped: its object"
            f" {self.key}, which a client registered at version {self.version}, cannot be read as"
            f" records: {self.reason}"
        )


def readable(
    dataset_name: str, files: Iterable[DatasetFile]
) -> tuple[tuple[DatasetFile, ...], tuple[LeftOut, ...]]:
    """Return the files that hold records, and those that are skipped.

    Files that nobody has read yet are read here. Only files that a client registered without facts
    can be skipped: a segment that cannot be read is damaged, and fails when it is read.
    """
    kept: list[DatasetFile] = []
    left_out: list[LeftOut] = []
    for file in files:
        mark = file.foreign
        if mark is not None and mark.origin is FileOrigin.UNREAD:
            file, mark = _looked_at(file, mark)
        if mark is not None and mark.origin is FileOrigin.UNREADABLE:
            item = LeftOut(dataset_name, file.segment_id, file.key, mark.version, mark.reason)
            left_out.append(item)
        else:
            kept.append(file)
    return tuple(kept), tuple(left_out)


def find_readable(
    client: MetaClient,
    dataset_name: str,
    version: int,
    signals: tuple[Signal, ...],
    bounds: TimeBounds,
) -> tuple[DatasetFile, ...]:
    """List the files that hold such records, and warn of those skipped; raises MetaError."""
    files = find_files(client, dataset_name, version, signals, bounds)
    kept, left_out = readable(dataset_name, files)
    warn(left_out)
    return kept


def warn(left_out: Sequence[LeftOut]) -> None:
    """Warn of files that are skipped, with their number if they are very many."""
    for text in texts(left_out):
        warnings.warn(text, SegmentsLeftOut, stacklevel=3)


def readable_urls(segments: Iterable[common_pb2.SegmentInfo]) -> Iterator[str]:
    """Yield the URLs of objects, and warn of those at which an engine that gets all would fail."""
    for segment in segments:
        if segment.foreign.state == common_pb2.FOREIGN_STATE_UNREADABLE:
            key, version = object_key(segment), segment.created_version
            item = LeftOut(segment.dataset_id, segment.id, key, version, segment.foreign.reason)
            warnings.warn(str(item), SegmentsLeftOut, stacklevel=2)
        else:
            yield segment_url(segment)


def texts(left_out: Sequence[LeftOut]) -> list[str]:
    """Return a sentence for each file, and the number of those beyond `SHOWN_MAX`."""
    shown = [str(item) for item in left_out[:SHOWN_MAX]]
    if len(left_out) > SHOWN_MAX:
        shown.append(
            f"{len(left_out) - SHOWN_MAX} further segments are skipped: `segplane segments find"
            " --unreadable` names them"
        )
    return shown


def _looked_at(file: DatasetFile, mark: ForeignMark) -> tuple[DatasetFile, ForeignMark | None]:
    """Read a file once, as a janitor does."""
    from segments.foreign.opening import examined

    try:
        read = examined(opener(file), mark.registered)
    except (ObjectMissing, FileNotFoundError):
        read = MISSING
    except (OSError, SegmentsError):
        # The store gives no answer; the read of the file reports that.
        return file, mark
    if read is None:
        return replace(file, foreign=None), None
    if isinstance(read, str):
        mark = replace(mark, origin=FileOrigin.UNREADABLE, reason=read)
        return replace(file, foreign=mark), mark
    mark = replace(mark, origin=FileOrigin.MAPPED)
    # With the signals that it has, as meta reports them later.
    return replace(file, foreign=mark, signals=read.signals), mark


def opener(file: DatasetFile) -> Callable[[], Any]:
    """Return what opens a file from its beginning."""
    # pyarrow takes long to import.
    from segplane.read.files.filesystems import filesystem, path_of

    return lambda: filesystem(file.store).open_input_file(path_of(file))
