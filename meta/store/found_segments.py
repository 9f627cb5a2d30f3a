"""Segments as lookups find them: bytes of their messages, what may change, and their places."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, TextClause, Uuid, bindparam, text

from meta.store import dataset_scope, segment_message, segments
from meta.store.engine import BINARY, Transaction

# The columns of a found segment, from a segment `s`.
COLUMNS = (
    "s.message, s.created_version, s.tombstone_version, s.facts, s.crc32c, uuid_send(s.id),"
    " s.dataset_key, s.dur_class, s.start_ns"
)
_BY_IDS = text(f"""
    SELECT {COLUMNS} FROM segments s
    WHERE s.id = ANY(:ids) AND (cast(:visible AS uuid[]) IS NULL OR s.dataset_key IN (
      SELECT key FROM datasets WHERE id = ANY(:visible)))
""").bindparams(bindparam("ids", type_=ARRAY(Uuid)))  # noqa: S608


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
    if not ids:
        return []
    values = {"ids": list(ids), "visible": dataset_scope.visible_ids()}
    by_id = {row.id: row for row in fetch(tx, _BY_IDS, values)}
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
