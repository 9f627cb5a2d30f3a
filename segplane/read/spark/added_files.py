"""Files that versions added to a dataset, from its changes: no merge, nothing twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxBytes, ReadMaxFiles

from meta.client import MetaClient
from meta.v1 import common_pb2, segment_lookup_pb2
from meta.v1 import operations_pb2 as pb
from segments.signals import Signal
from segplane.read.bounds import TimeBounds
from segplane.read.errors import ReadError
from segplane.read.files.files import DatasetFile, file_of
from segplane.read.files.left_out import readable, warn

_CHANGES = 5_000
# Spark asks again at once: an idle stream waits here.
_WAIT_SECS = 1


def current_version(client: MetaClient, dataset_name: str) -> int:
    """The current version. Raises MetaError."""
    request = segment_lookup_pb2.FindSegmentsRequest(dataset_names=[dataset_name], limit=1)
    return client.segment_lookup.FindSegments(request).snapshot_version


def count_within(files: Sequence[DatasetFile], limit: ReadLimit) -> int:
    """Number of files within a batch's limit, at least one of them."""
    if isinstance(limit, ReadMaxFiles):
        return min(len(files), limit.max_files)
    if isinstance(limit, ReadMaxBytes):
        size = 0
        for number, file in enumerate(files):
            size += file.size_bytes
            if number and size > limit.max_bytes:
                return number
    return len(files)


def check_same(expected_id: str, dataset_id: str, name: str) -> None:
    """Raise ReadError if a dataset is another than the one that a stream began with."""
    if dataset_id != expected_id:
        raise ReadError(
            f"dataset {name!r} was deleted and created again: start with a new checkpoint"
        )


class AddedFiles:
    """Files added after the version of an offset, of some signals and within bounds of time."""

    def __init__(
        self,
        client: MetaClient,
        start: Mapping[str, Any],
        dataset_name: str,
        signals: tuple[Signal, ...],
        bounds: TimeBounds,
        promoted: Sequence[common_pb2.PromotedColumn],
    ) -> None:
        self._client = client
        self._since = int(start["version"])
        self._known = self._since
        self._dataset_id = str(start["dataset"])
        self._name = dataset_name
        self._signals = signals
        self._bounds = bounds
        self._promoted = {column.name_id or column.field_id: column for column in promoted}

    def files(self, through: int) -> tuple[DatasetFile, ...]:
        """The files of (offset, through]. Raises MetaError."""
        files: list[DatasetFile] = []
        for version, changes in self._versions(wait_secs=0):
            if version > through:
                break
            files += self._added(changes)
        kept, left_out = readable(self._name, files)
        warn(left_out)
        return kept

    def through(self, limit: ReadLimit, until: int | None, pin: pb.Pin) -> int:
        """The last version of the next batch; that of the offset if nothing has changed.

        A version is never divided: one that is beyond the limit comes alone. An offset whose pin
        is past half of the age that pins reach is moved on even if nothing has changed.
        """
        reached = self._since
        files: list[DatasetFile] = []
        for version, changes in self._versions(_WAIT_SECS if until is None else 0):
            if until is not None and version > until:
                return reached
            files += self._added(changes)
            if reached > self._since and count_within(files, limit) < len(files):
                return reached
            reached = version
        if reached == self._since and _is_old(pin):
            return max(self._since, self._known if until is None else min(self._known, until))
        return reached

    def _versions(self, wait_secs: int) -> Iterator[tuple[int, Sequence[pb.DatasetChange]]]:
        """Each version with changes after the offset; `_known` is the last one without more."""
        while True:
            request = pb.ListDatasetChangesRequest(
                dataset_name=self._name,
                since_version=self._known,
                limit=_CHANGES,
                wait_secs=wait_secs,
            )
            reply = self._client.operations.ListDatasetChanges(request)
            yield from _by_version(reply.changes)
            self._known, wait_secs = reply.through_version, 0
            if self._known >= reply.current_version:
                return

    def _added(self, changes: Sequence[pb.DatasetChange]) -> Iterator[DatasetFile]:
        for change in changes:
            check_same(self._dataset_id, change.segment.dataset_id, self._name)
            if change.is_removed or change.is_merge:
                continue
            file = file_of(change.segment, (), self._signals)
            if file.signals is not None and not set(file.signals) & set(self._signals):
                continue
            if self._bounds.overlap(file.start_time, file.end_time):
                yield replace(file, promoted=self._promoted_of(change.segment))

    def _promoted_of(
        self, segment: common_pb2.SegmentInfo
    ) -> tuple[common_pb2.PromotedColumn, ...] | None:
        """The promoted columns of a file; None if one is not among today's."""
        if not segment.HasField("facts"):
            return None
        columns = [self._promoted.get(field_id) for field_id in segment.facts.promoted_field_ids]
        promoted = tuple(column for column in columns if column is not None)
        return promoted if len(promoted) == len(columns) else None


def _by_version(
    changes: Sequence[pb.DatasetChange],
) -> Iterator[tuple[int, list[pb.DatasetChange]]]:
    group: list[pb.DatasetChange] = []
    for change in changes:
        if group and group[0].version != change.version:
            yield group[0].version, group
            group = []
        group.append(change)
    if group:
        yield group[0].version, group


def _is_old(pin: pb.Pin) -> bool:
    """True if less than half of a pin's longest life is left."""
    now = pin.expires_at_nanos - pin.left_secs * 10**9
    return pin.ends_at_nanos - now < (pin.ends_at_nanos - pin.created_at_nanos) // 2
