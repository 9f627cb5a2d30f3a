"""Datasets of a group, opened together: by one connection, at one version, without pins.

A subject has at most 1,000 pins. Objects of segments that later versions delete are kept for a
grace, five minutes at least unless an operator allowed less; a longer reading may be refused.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from meta.client import MetaClient
from meta.errors import MetaError, VersionExpired
from meta.v1 import common_pb2
from meta.v1 import segment_lookup_pb2 as pb
from segments.signals import SIGNALS
from segplane.read.bounds import TimeBounds
from segplane.read.connection import connect
from segplane.read.dataset import OpenDataset
from segplane.read.errors import PinLost, meta_refusals
from segplane.read.files.files import DatasetFile, file_of
from segplane.read.files.left_out import readable, warn
from segplane.read.lookup import find_pages
from segplane.read.pins import VersionPin

_PAGE = 10_000
_CHECK_SECS = 60.0


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A dataset of a group, with its promoted columns."""

    dataset_id: str
    promoted: tuple[common_pb2.PromotedColumn, ...]


@dataclass(frozen=True, slots=True)
class MemberRead:
    """Columns and times of a dataset that a reader needs."""

    name: str
    member: GroupMember
    columns: tuple[str, ...]
    bounds: TimeBounds


@dataclass(frozen=True, slots=True)
class GroupFiles:
    """The files of several datasets at a version, by the ids of the datasets."""

    version: int
    files: Mapping[str, Sequence[DatasetFile]]

    def opened(self, read: MemberRead, pin: VersionPin) -> OpenDataset:
        """Return one of the datasets; its columns are checked. Raises ReadError."""
        files = (
            file
            for file in self.files.get(read.member.dataset_id, ())
            if read.bounds.overlap(file.start_time, file.end_time)
        )
        kept, left_out = readable(read.name, tuple(files))
        opened = OpenDataset(
            read.name,
            pin,
            SIGNALS,
            read.bounds,
            kept,
            read.member.promoted,
            read.columns,
            left_out=left_out,
        )
        return opened.checked()


def find_group_files(
    client: MetaClient, names: Sequence[str], bounds: TimeBounds, as_of: int | None
) -> GroupFiles:
    """List files of some datasets at a version, None = the current one. Raises MetaError."""
    request = pb.FindSegmentsRequest(
        dataset_names=names, as_of_version=as_of, limit=_PAGE, time_range=bounds.time_range()
    )
    files: dict[str, list[DatasetFile]] = {}
    version = 0
    for page in find_pages(client, request):
        version = page.snapshot_version
        layouts = [tuple(layout.promoted_columns) for layout in page.layouts]
        for segment in page.segments:
            of_dataset = files.setdefault(segment.dataset_id, [])
            of_dataset.append(file_of(segment, layouts, SIGNALS))
    return GroupFiles(version, files)


def hull(reads: Sequence[MemberRead]) -> TimeBounds:
    """Return the least bounds with those of all reads."""
    starts = [read.bounds.start for read in reads]
    ends = [read.bounds.end for read in reads]
    return TimeBounds(
        None if None in starts else min(start for start in starts if start is not None),
        None if None in ends else max(end for end in ends if end is not None),
    )


@contextmanager
def open_group(
    reads: Sequence[MemberRead], as_of: int | None, meta_address: str | None
) -> Iterator[tuple[OpenDataset, ...]]:
    """Open datasets at one version, None = the current one. Raises ReadError."""
    names = [read.name for read in reads]
    with connect(meta_address, None, None) as client:
        with meta_refusals(client):
            listed = find_group_files(client, names, hull(reads), as_of)
        group = _GroupVersion(client, names, listed.version)
        opened = tuple(listed.opened(read, _Unpinned(read.member, group)) for read in reads)
        warn([item for dataset in opened for item in dataset.left_out])
        yield opened


class _GroupVersion:
    """A version of several datasets, of which meta tells now and then whether it is kept."""

    def __init__(self, client: MetaClient, names: Sequence[str], version: int) -> None:
        self.client = client
        self.version = version
        self._names = names
        self._until = time.monotonic() + _CHECK_SECS

    def check(self) -> None:
        """Raise PinLost if files of the version may have been deleted."""
        if time.monotonic() < self._until:
            return
        request = pb.FindSegmentsRequest(
            dataset_names=self._names, as_of_version=self.version, limit=1
        )
        try:
            self.client.segment_lookup.FindSegments(request)
        except VersionExpired as error:
            raise PinLost(
                f"version {self.version} of the group has expired, so its files may be deleted:"
                " ask again, for less time or fewer columns"
            ) from error
        except MetaError:
            # Without an answer it may be kept.
            pass
        self._until = time.monotonic() + _CHECK_SECS


class _Unpinned(VersionPin):
    """A dataset at the version of its group."""

    def __init__(self, member: GroupMember, group: _GroupVersion) -> None:
        self.client = group.client
        self.dataset_id, self.version = member.dataset_id, group.version
        self._group = group

    def check(self) -> None:
        """Raise PinLost if the files may have been deleted."""
        self._group.check()

    def verify(self) -> None:
        """Do the same."""
        self._group.check()

    def keep_for(self, user: object, *, is_lazy: bool = False) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing: the group is closed."""
