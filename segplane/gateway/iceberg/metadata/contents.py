"""The segments of one dataset at one version, brought from version to version by its changes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import structlog

from meta.client import MetaClient
from meta.errors import VersionExpired
from meta.v1 import common_pb2
from meta.v1.operations_pb2 import DatasetChange, ListDatasetChangesRequest
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest, GetSegmentsByIdsRequest
from segments.location import Stores
from segments.store.interface import ObjectStore
from segplane.gateway.http import metrics
from segplane.gateway.iceberg.metadata.data_files import (
    DataFile,
    UnreadableFile,
    data_file,
    told_apart,
)
from segplane.gateway.iceberg.metadata.documents import LEFT_OUT_MAX
from segplane.gateway.iceberg.metadata.manifest_groups import ManifestGroups
from segplane.gateway.iceberg.refusals import TableRefused
from segplane.read.lookup import find_pages

log = structlog.get_logger()
PAGE = 10_000
CHANGES_PAGE = 5_000
IDS_PAGE = 1_000


class OtherDataset(Exception):
    """The name belongs to another dataset than before."""


@dataclass(slots=True)
class Contents:
    """Segments of a dataset at `version`; nothing changed from there through `through`."""

    dataset_id: str
    dataset_name: str
    stores: Stores
    segments_max: int
    store: ObjectStore
    version: int = 0
    through: int = 0
    # Its version was that of the server when it was read, not that of the last change.
    is_fresh: bool = False
    number_of_events: int = 0
    size_bytes: int = 0
    groups: ManifestGroups = field(default_factory=ManifestGroups)
    _files: dict[str, DataFile] = field(default_factory=dict)
    _unreadable: dict[str, UnreadableFile] = field(default_factory=dict)

    @property
    def segments(self) -> int:
        """Number of segments, those that engines cannot read included."""
        return len(self._files) + len(self._unreadable)

    @property
    def num_files(self) -> int:
        """Number of the segments that engines read."""
        return len(self._files)

    def note_left_out(self) -> list[str]:
        """Return a sentence for each object that engines do not read, count them, log the first.

        Clients registered them; sentences come in the order of ids.
        """
        left_out = [file for file in self._unreadable.values() if file.is_left_out]
        texts = [str(file) for file in sorted(left_out, key=lambda file: file.id)]
        metrics.LEFT_OUT_SEGMENTS.inc(len(texts))
        for sentence in texts[:LEFT_OUT_MAX]:
            log.warning("segment_left_out", dataset=self.dataset_name, text=sentence)
        return texts

    def belongs_to(self, dataset_id: str, stores: Stores) -> bool:
        """True for segments of this dataset in these stores."""
        return (self.dataset_id, self.stores) == (dataset_id, stores)

    def load(self, meta: MetaClient, version: int | None = None) -> None:
        """Read all segments at a version, or at the current one. Raises MetaError, TableRefused."""
        request = FindSegmentsRequest(
            dataset_names=[self.dataset_name], limit=PAGE, as_of_version=version
        )
        files: list[DataFile] = []
        for reply in find_pages(meta, request):
            for segment in reply.segments:
                self._check_owner(segment)
                described = self._described(segment)
                if isinstance(described, DataFile):
                    files.append(described)
                else:
                    self._unreadable[described.id] = described
            self._check_number(len(files) + len(self._unreadable))
        self.groups.add_all(files)
        self._count(files, 1)
        self._files = {file.id: file for file in files}
        self.version = self.through = reply.snapshot_version
        self.is_fresh = True

    def adopt_version(self, meta: MetaClient, published: Sequence[int]) -> None:
        """Call the contents by the last of the published versions, if that shows the same ones."""
        latest = published[-1] if published else self.version
        is_same = self.version < latest <= self.through
        if latest < self.version and self.is_fresh:
            is_same = self.is_unchanged_since(meta, latest)
        if is_same:
            self.version = latest
        self.is_fresh = False

    def is_unchanged_since(self, meta: MetaClient, version: int) -> bool:
        """True if a lower version showed the same segments, for all that is known by now."""
        request = ListDatasetChangesRequest(
            dataset_name=self.dataset_name, since_version=version, limit=1
        )
        try:
            reply = meta.operations.ListDatasetChanges(request)
        except VersionExpired:
            return False
        return not reply.changes and reply.through_version >= self.through

    def follow(self, meta: MetaClient) -> None:
        """Go on to the current version. Raises MetaError, OtherDataset, TableRefused."""
        while True:
            reply = meta.operations.ListDatasetChanges(
                ListDatasetChangesRequest(
                    dataset_name=self.dataset_name,
                    since_version=self.through,
                    limit=CHANGES_PAGE,
                )
            )
            self._apply(reply.changes)
            self.through = reply.through_version
            if reply.through_version >= reply.current_version:
                return

    def check_readable(self, meta: MetaClient) -> None:
        """Raise TableRefused if engines cannot read some segments, and say how many."""
        refused = [file for file in self._unreadable.values() if not file.is_left_out]
        unknown = [file.id for file in refused if file.format_version is None]
        # Footers are read behind the registrations, and no version is drawn for it.
        for start in range(0, len(unknown), IDS_PAGE):
            request = GetSegmentsByIdsRequest(segment_ids=unknown[start : start + IDS_PAGE])
            for segment in meta.segment_lookup.GetSegmentsByIds(request).segments:
                del self._unreadable[segment.id]
                self._add(segment)
        refused = [file for file in self._unreadable.values() if not file.is_left_out]
        if refused:
            raise TableRefused(why_unreadable(self.dataset_name, refused))

    def _apply(self, changes: Iterable[DatasetChange]) -> None:
        for change in changes:
            self._check_owner(change.segment)
            if change.is_removed:
                self._remove(change.segment.id)
            else:
                self._add(change.segment)
            self.version, self.is_fresh = change.version, False
        self._check_number(self.segments)

    def _described(self, segment: common_pb2.SegmentInfo) -> DataFile | UnreadableFile:
        return data_file(told_apart(segment, self.store), self.stores)

    def _add(self, segment: common_pb2.SegmentInfo) -> None:
        described = self._described(segment)
        if isinstance(described, UnreadableFile):
            self._unreadable[described.id] = described
        elif described.id not in self._files:
            self._files[described.id] = described
            self.groups.add(described)
            self._count([described], 1)

    def _remove(self, segment_id: str) -> None:
        self._unreadable.pop(segment_id, None)
        file = self._files.pop(segment_id, None)
        if file is not None:
            self.groups.remove(file)
            self._count([file], -1)

    def _count(self, files: Sequence[DataFile], sign: int) -> None:
        self.number_of_events += sign * sum(file.number_of_events for file in files)
        self.size_bytes += sign * sum(file.size_bytes for file in files)

    def _check_owner(self, segment: common_pb2.SegmentInfo) -> None:
        if segment.dataset_id != self.dataset_id:
            raise OtherDataset

    def _check_number(self, number: int) -> None:
        if number > self.segments_max:
            raise TableRefused(
                f"dataset {self.dataset_name} has more than {self.segments_max} segments, which is"
                " the most that this gateway describes (GATEWAY_SEGMENTS_MAX)"
            )


def why_unreadable(dataset_name: str, segments: Iterable[UnreadableFile]) -> str:
    """Return a sentence that says how many segments engines cannot read, and what to do."""
    formats = [file.format_version for file in segments]
    unknown, old = formats.count(None), formats.count(1)
    command = f"segplane tasks rewrite --dataset {dataset_name} --format 2"
    numbers = (
        (old, f"of format 1 (convert them: `{command}`)"),
        (unknown, "whose content is not known yet (a janitor reads their footers)"),
        (len(formats) - old - unknown, "that a later release wrote"),
    )
    shown = " and ".join(f"{number} segments {which}" for number, which in numbers if number)
    return f"dataset {dataset_name} holds {shown}, which Iceberg readers cannot read"
