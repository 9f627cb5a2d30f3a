"""Segments as lookups find them: bytes of their messages, what may change, and their places."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import TextClause, text

from meta.store import dataset_scope, driver_statements, pg_arrays, segment_message, segments
from meta.store.engine import BINARY, Database, Transaction

# The columns of a found segment, from a segment `s`.
COLUMNS = (
    "s.message, s.created_version, s.tombstone_version, s.facts, s.crc32c, uuid_send(s.id),"
    " s.dataset_key, s.dur_class, s.start_ns"
)
_BY_IDS = f"""
    SELECT {COLUMNS} FROM segments s
    WHERE s.id = ANY(cast({{ids}} AS uuid[]))
      AND (cast({{visible}} AS uuid[]) IS NULL OR s.dataset_key IN (
        SELECT key FROM datasets WHERE id = ANY(cast({{visible}} AS uuid[]))))
"""  # noqa: S608
_IN_TRANSACTION = text(_BY_IDS.format(ids=":ids", visible=":visible"))
_BY_ITSELF = _BY_IDS.format(ids="$1", visible="$2").encode()


@dataclass(frozen=True, slots=True)
class Position:
    """The last segment of a page; the next page begins behind it."""

    dataset_key: int
    dur_class: int
    start_ns: int
    segment_id: UUID


class FoundSegment(NamedTuple):
    """A segment's message, what may change of it, and its position in the order of the pages.

    `message` is what `segment_message.write` wrote, None in rows of releases before.
    """

    message: bytes | None
    created_version: int
    tombstone_version: int | None
    facts: bytes | None
    crc32c: int | None
    id: bytes
    dataset_key: int
    dur_class: int
    start_ns: int

    def position(self) -> Position:
        """Position of the page after one that ends here."""
        return Position(self.dataset_key, self.dur_class, self.start_ns, UUID(bytes=self.id))


def fetch(
    tx: Transaction, statement: TextClause, values: Mapping[str, object]
) -> list[FoundSegment]:
    """The segments that a statement selects COLUMNS of."""
    # In binary form and at once: texts cost more on both sides, rows one by one as much again.
    result = tx.execute(statement, values, execution_options={BINARY: True})
    return list(map(FoundSegment._make, result.cursor.fetchall()))


def by_ids(tx: Transaction, ids: Sequence[UUID]) -> list[FoundSegment]:
    """The segments that the caller may see, tombstoned ones too, in the order of distinct `ids`."""
    values = dict(zip(("ids", "visible"), _values(ids), strict=True))
    return _in_order(ids, fetch(tx, _IN_TRANSACTION, values))


def kept_by_ids(database: Database, ids: Sequence[UUID]) -> list[FoundSegment] | None:
    """Like `by_ids` by one statement; None where a row does not keep its message.

    Raises Conflict where a migration is under way.
    """
    rows = driver_statements.fetch_rows(database, _BY_ITSELF, _values(ids))
    found = _in_order(ids, map(FoundSegment._make, rows))
    return None if any(segment.message is None for segment in found) else found


def _values(ids: Sequence[UUID]) -> list[str | None]:
    visible = dataset_scope.visible_ids()
    return [pg_arrays.uuids(ids), None if visible is None else pg_arrays.uuids(visible)]


def _in_order(ids: Sequence[UUID], found: Iterable[FoundSegment]) -> list[FoundSegment]:
    by_id = {segment.id: segment for segment in found}
    return [by_id[one.bytes] for one in ids if one.bytes in by_id]


def messages(tx: Transaction, found: Sequence[FoundSegment]) -> list[bytes]:
    """The messages of segments, those that their rows do not keep made of their rows."""
    unknown = [UUID(bytes=segment.id) for segment in found if segment.message is None]
    made = {}
    for row in segments.get_many(tx, unknown):
        made[UUID(row.id).bytes] = segment_message.write(
            row.id,
            row.dataset_id,
            (row.start_ns, row.end_ns),
            (row.size_bytes, row.compressed_size_bytes, row.number_of_events),
            (row.prefix, row.object_name),
            row.merge_count,
        )
    return [made[s.id] if s.message is None else s.message for s in found]
