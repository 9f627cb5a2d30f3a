"""Search of a record by a condition of KQL: the segment or the baby segment that has it.

One version is read. Bisection finds the file that has the record: a dataset of n files takes
log2(n) further queries, each of half as many files as the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from dataplane.babies.reads import TaskRead
    from kql.pushdown.reads import DatasetRead
    from meta.client import MetaClient
    from segplane.query.plan import QueryPlan
    from segplane.read import DatasetFile, OpenDataset
    from segplane.read.bounds import TimeBounds
    from segplane.read.rows.fresh import FreshRecords

# Records that are counted at most.
COUNTED_MAX = 1_000
_TRIES_MAX = 3
Part = TypeVar("Part")


class RecordNotFound(Exception):
    """No record meets the condition."""


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """A segment, or a stream's offset, that has a record; `matches` are counted to COUNTED_MAX."""

    matches: int
    segment_id: str = ""
    stream_id: str = ""
    offset: int = 0


@dataclass(frozen=True, slots=True)
class RecordSearch:
    """A condition over one dataset, within bounds of time."""

    client: MetaClient
    address: str
    dataset: str
    condition: str
    bounds: TimeBounds

    def find(self) -> FoundRecord:
        """Find a record. Raises RecordNotFound, QueryError, ReadError, MetaError."""
        return self._merged() or self._fresh()

    def _merged(self) -> FoundRecord | None:
        opened = self._open(fresh=False)
        with opened:
            files = opened.files()

            def count(some: Sequence[DatasetFile]) -> int:
                return self._count(opened.version, some, None)

            matches = count(files)
            if not matches:
                return None
            file = _bisected(files, count)
            return FoundRecord(matches, segment_id=file.segment_id)

    def _fresh(self) -> FoundRecord:
        """Find a record in the baby segments; one that is merged meanwhile is in a segment."""
        from segplane.query.errors import QueryError

        for tries in range(1, _TRIES_MAX + 1):
            try:
                record = self._unmerged()
            except QueryError:
                # A baby segment was merged and deleted since it was listed.
                if tries == _TRIES_MAX:
                    raise
                record = None
            if (record := record or self._merged()) is not None:
                return record
        raise RecordNotFound(f"no record of {self.dataset!r} meets {self.condition!r}")

    def _unmerged(self) -> FoundRecord | None:
        with self._open(fresh=True) as opened:
            fresh = opened.fresh
            assert fresh is not None

            def count(babies: Sequence[TaskRead]) -> int:
                return self._count(opened.version, (), replace(fresh, babies=list(babies)))

            if not fresh.babies or not (matches := count(fresh.babies)):
                return None
            baby = _bisected(fresh.babies, count)
            return FoundRecord(matches, stream_id=baby.stream_id, offset=baby.offset)

    def _open(self, *, fresh: bool) -> OpenDataset:
        from segplane.read import open_dataset

        return open_dataset(
            self.dataset,
            start=self.bounds.start,
            end=self.bounds.end,
            fresh=fresh,
            meta_address=self.address,
        )

    def _count(self, version: int, files: Sequence[DatasetFile], fresh: FreshRecords | None) -> int:
        """Count records that meet the condition, up to COUNTED_MAX."""
        from segplane.query.engine import opened_query
        from segplane.query.runs import define_views
        from segplane.query.sources import QueryPlace
        from segplane.read import open_dataset

        ids = {file.segment_id for file in files}

        def opener(read: DatasetRead, bounds: TimeBounds, _as_of: int | None) -> OpenDataset:
            opened = open_dataset(
                read.name,
                start=bounds.start,
                end=bounds.end,
                columns=read.columns,
                as_of=version,
                meta_address=self.address,
            )
            kept = tuple(file for file in opened.files() if file.segment_id in ids)
            return replace(opened, _files=kept, fresh=fresh)

        target = QueryPlace(self.address, version, self.bounds, opener=opener)
        planned = self._plan()
        with opened_query(planned, target, prepare=define_views(planned)) as query:
            return sum(int(row[0].as_py()) for batch in query.reader() for row in batch.columns)

    def _plan(self) -> QueryPlan:
        from segplane.query.runs import plan

        name = self.dataset.replace("\\", "\\\\").replace("'", "\\'")
        # On lines of its own, a comment in the condition ends before the bounds.
        text = f"['{name}'] | where (\n{self.condition}\n)\n| take {COUNTED_MAX}\n| count"
        return plan(self.client, text, "kql", datetime.now(UTC))


def _bisected(parts: Sequence[Part], count: Callable[[Sequence[Part]], int]) -> Part:
    """Return a part that counts, of parts that count together."""
    while len(parts) > 1:
        half = len(parts) // 2
        # The later ones first: a record that is asked for is mostly a new one.
        parts = parts[half:] if count(parts[half:]) else parts[:half]
    return parts[0]
