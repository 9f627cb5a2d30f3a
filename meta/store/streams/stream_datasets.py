"""Entries: one per (stream, dataset), each with its own merged offset."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import text

from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.versions.versions import Version
from segments.ids import parse_uuid
from segments.offsets import OffsetSpan


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry to make: nothing at or below `base_offset` is of this dataset."""

    stream_id: UUID
    dataset_id: UUID
    base_offset: int


@dataclass(frozen=True, slots=True)
class EntryMove:
    """Move of one entry by a merge: the merged offset goes from `offsets.start - 1` to its end.

    `ingest_time_nanos` is when the last of these baby segments was ingested.
    """

    dataset_id: UUID
    offsets: OffsetSpan
    ingest_time_nanos: int
    # Derived from `offsets`: parsed once, because a registration reads it ten times.
    stream_id: UUID = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stream_id", parse_uuid(self.offsets.stream_id))

    @property
    def key(self) -> "Key":
        """The entry."""
        return self.stream_id, self.dataset_id


# Arrays travel as literals: see meta.store.engine.pg_arrays.
_FOREIGN = text(
    "SELECT d FROM unnest(cast(:datasets AS uuid[])) AS d WHERE NOT EXISTS ("
    "  SELECT FROM stream_datasets e WHERE e.stream_id = :stream AND e.dataset_id = d)"
    " AND NOT EXISTS (SELECT FROM stream_tokens s JOIN ingest_tokens t ON t.id = s.token_id"
    "  WHERE s.stream_id = :stream"
    "  AND d IN (t.logs_dataset_id, t.traces_dataset_id, t.metrics_dataset_id))"
    " AND NOT EXISTS (SELECT FROM routing_periods p WHERE p.stream_id = :stream"
    "  AND d IN (p.logs_dataset_id, p.traces_dataset_id, p.metrics_dataset_id))"
    # The age of the oldest flush that its collector may still write.
    " AND NOT EXISTS (SELECT FROM stream_removals r WHERE r.stream_id = :stream"
    "  AND r.dataset_id = d AND r.removed_at > meta_ago(43200))"
)
# Earlier baby segments may bear the stamp. A nursery quarantines their records, which it may have
# begun already: an entry that began below them would merge them too.
_INSERT = text(
    "INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset,"
    " changed_version) SELECT s, d, o, o, 0 FROM unnest(cast(:streams AS uuid[]),"
    " cast(:datasets AS uuid[]), cast(:offsets AS bigint[])) AS new (s, d, o)"
    " ORDER BY s, d ON CONFLICT DO NOTHING RETURNING stream_id, dataset_id"
)
_STAMP = text(
    "UPDATE stream_datasets e SET changed_version = :version"
    " FROM unnest(cast(:streams AS uuid[]), cast(:datasets AS uuid[])) AS k (s, d)"
    " WHERE stream_id = s AND dataset_id = d"
)
# Sorted, so that two merges over the same entries wait for one another and do not deadlock.
_LOCK = text(
    "SELECT stream_id, dataset_id, merged_offset FROM stream_datasets"
    " JOIN unnest(cast(:streams AS uuid[]), cast(:datasets AS uuid[])) AS k (s, d)"
    " ON stream_id = s AND dataset_id = d"
    " ORDER BY stream_id, dataset_id FOR UPDATE OF stream_datasets"
)
_OF_STREAM = text("SELECT dataset_id, merged_offset FROM stream_datasets WHERE stream_id = :stream")
_LIVE = text(
    "SELECT id FROM datasets WHERE id = ANY(cast(:datasets AS uuid[])) AND deleted_at IS NULL"
    " ORDER BY id FOR KEY SHARE"
)
_DELETE = tuple(
    text(f"DELETE FROM {table} WHERE stream_id = :stream AND dataset_id = :dataset")  # noqa: S608
    for table in ("stream_datasets", "offset_checkpoints")
)

Key = tuple[UUID, UUID]


def find_foreign(tx: Transaction, stream_id: UUID, dataset_ids: Iterable[UUID]) -> frozenset[UUID]:
    """The datasets that have no entry in a stream and to which none of its tokens routes.

    A token may have routed there until lately, and the stamp be older than that: a dataset whose
    entry was removed in the last hours is not among them.
    """
    values = {"stream": stream_id, "datasets": pg_arrays.uuids(dataset_ids)}
    return frozenset(tx.execute(_FOREIGN, values).scalars())


def create_missing(tx: Transaction, entries: Sequence[NewEntry]) -> list[Key]:
    """Make the entries that are not there; the caller holds the heads and stamps the answer."""
    if not entries:
        return []
    keys = [(entry.stream_id, entry.dataset_id) for entry in entries]
    offsets = pg_arrays.numbers([entry.base_offset for entry in entries])
    values = {**_columns(keys), "offsets": offsets}
    return [(row.stream_id, row.dataset_id) for row in tx.execute(_INSERT, values)]


def stamp(tx: Transaction, entries: Sequence[Key], version: Version) -> None:
    """Record the version at which entries last changed for nurseries."""
    if entries:
        tx.execute(_STAMP, {**_columns(entries), "version": version})


def lock(tx: Transaction, entries: Sequence[Key]) -> dict[Key, int]:
    """Lock entries in the order of their keys; answers merged offsets, missing ones skipped."""
    rows = tx.execute(_LOCK, _columns(entries))
    return {(row.stream_id, row.dataset_id): row.merged_offset for row in rows}


def of_stream(tx: Transaction, stream_id: UUID) -> Mapping[UUID, int]:
    """The merged offset of each dataset of a stream."""
    rows = tx.execute(_OF_STREAM, {"stream": stream_id})
    return {row.dataset_id: row.merged_offset for row in rows}


def lock_live_datasets(tx: Transaction, dataset_ids: Iterable[UUID]) -> frozenset[UUID]:
    """Lock live datasets against deletion until the commit; deleted ones are skipped."""
    return frozenset(tx.execute(_LIVE, {"datasets": pg_arrays.uuids(dataset_ids)}).scalars())


def delete_one(tx: Transaction, stream_id: UUID, dataset_id: UUID) -> None:
    """Remove a locked entry and its checkpoints."""
    for statement in _DELETE:
        tx.execute(statement, {"stream": stream_id, "dataset": dataset_id})


def _columns(entries: Sequence[Key]) -> dict[str, object]:
    return {
        "streams": pg_arrays.uuids([key[0] for key in entries]),
        "datasets": pg_arrays.uuids([key[1] for key in entries]),
    }
