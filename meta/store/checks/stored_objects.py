"""The objects that must exist, in key order: of live and pinned segments, then unmerged babies.

Files of others that readers leave out are none of them: nothing is known that they should hold.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.pins.pin_lists import HELD
from meta.store.segments.foreign_files import UNREADABLE
from meta.store.streams import merged_offsets
from segments.keys import BABIES_ROOT, OFFSET_DIGITS

ID_MIN, ID_MAX = UUID(int=0), UUID(int=2**128 - 1)
_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def stream_bound(key: str, otherwise: UUID) -> UUID:
    """The stream that a key lies in, if the key is within a stream; else no bound."""
    rest = key.removeprefix(BABIES_ROOT)[:36]
    is_bound = key.startswith(BABIES_ROOT) and _UUID.fullmatch(rest)
    return UUID(rest) if is_bound else otherwise


def baby_position(key: str) -> tuple[UUID, int]:
    """Behind which (stream, offset) babies come after a key; before all of them if it is none."""
    stream_id = stream_bound(key, ID_MIN)
    digits = key.rpartition("/")[2]
    is_baby = stream_id != ID_MIN and re.fullmatch("[0-9]{20}", digits)
    return stream_id, min(int(digits), 2**63 - 1) if is_baby else -1


# Sorts behind every baby of its stream.
_STREAM_END = "9" * OFFSET_DIGITS


class StoredObject(NamedTuple):
    """An object, with the facts that meta has of its bytes; ids are "" if it is a baby."""

    object_key: str
    size_bytes: int
    crc32c: int | None
    is_crc32c_read: bool
    segment_id: str = ""
    dataset_id: str = ""
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page; the next one begins after `next_after`, "" = it was the last one."""

    objects: tuple[StoredObject, ...]
    next_after: str


@dataclass(frozen=True, slots=True)
class StoredTotals:
    """Number of objects, about, and their bytes."""

    objects: int
    size_bytes: int


# Rows without a live segment are returned, too: a page is bounded by the rows that it reads.
_SEGMENTS = text(f"""
    WITH page AS MATERIALIZED (
        SELECT object_key, segment_id FROM object_identities
        WHERE object_key > :after AND state = 1 ORDER BY object_key LIMIT :most)
    SELECT p.object_key, s.compressed_size_bytes, s.crc32c, s.crc32c_read_at IS NOT NULL,
           s.id::text, d.id::text,
           EXISTS (SELECT FROM damaged_objects o WHERE o.object_key = p.object_key)
    FROM page p
    LEFT JOIN segments s ON s.id = p.segment_id AND s.created_version > :since
         AND s.foreign_state IS DISTINCT FROM {UNREADABLE}
    LEFT JOIN datasets d ON d.key = s.dataset_key
         AND ((s.tombstone_version IS NULL AND d.deleted_at IS NULL) OR ({HELD}))
    ORDER BY p.object_key
""")  # noqa: S608
# Read by streams: rows of reaped babies stay for a day, and a page must not read them all. A stream
# without such babies is one row.
_BABIES = text(f"""
    SELECT s.id::text, b."offset", b.size_bytes, b.crc32c, b.crc32c_read_at IS NOT NULL, '', '',
           EXISTS (SELECT FROM damaged_objects o WHERE o.object_key =
                   'ingest-stream/' || s.id || '/' || lpad(b."offset"::text, 20, '0'))
    FROM (SELECT id, deleted_offset FROM ingest_streams
          WHERE id >= :behind AND retired_at IS NULL
            AND NOT (id = :behind AND :behind_offset = 9223372036854775807)
          ORDER BY id LIMIT :most) s
    JOIN stream_heads h ON h.stream_id = s.id
    LEFT JOIN LATERAL (
        SELECT "offset", size_bytes, crc32c, crc32c_read_at FROM baby_segments
        WHERE stream_id = s.id AND "offset" > greatest(s.deleted_offset, coalesce(
                {merged_offsets.lowest_in("s", "h")}, h.committed_offset))
          AND (stream_id, "offset") > (:behind, :behind_offset)
        ORDER BY "offset" LIMIT :most) b ON true
    ORDER BY s.id, b."offset" LIMIT :most
""")  # noqa: S608
_TOTALS = text("""
    SELECT sum(k.live_segments), sum(k.live_compressed_size_bytes)
    FROM dataset_stats k JOIN datasets d ON d.key = k.dataset_key WHERE d.deleted_at IS NULL
""")
_TOTALS_SINCE = text("""
    SELECT count(*), sum(s.compressed_size_bytes)
    FROM segments s JOIN datasets d ON d.key = s.dataset_key AND d.deleted_at IS NULL
    WHERE s.tombstone_version IS NULL AND s.created_version > :since
""")
_BABY_TOTALS = text("SELECT count(*), sum(size_bytes) FROM baby_segments WHERE reaped_at IS NULL")


def read_page(tx: Transaction, after: str, since: int, most: int) -> StoredPage:
    """Read the objects behind a key, at most `most`; fewer, even none, before the last page."""
    if after < BABIES_ROOT:
        values = {"after": after, "since": since, "most": most}
        rows = list(tx.execute(_SEGMENTS, values))
        # The dataset's id is there if the segment and its dataset are.
        objects = tuple(StoredObject._make(row) for row in rows if row[5] is not None)
        return StoredPage(objects, rows[-1][0] if len(rows) == most else BABIES_ROOT)
    stream_id, offset = baby_position(after)
    values = {"behind": stream_id, "behind_offset": offset, "most": most}
    rows = list(tx.execute(_BABIES, values))
    babies = tuple(StoredObject(_key(row), *row[2:]) for row in rows if row[1] is not None)
    return StoredPage(babies, _key(rows[-1]) if len(rows) == most else "")


def count(tx: Transaction, since: int) -> StoredTotals:
    """Count the objects and their bytes: of segments by the statistics if that is enough."""
    counted = tx.execute(_TOTALS_SINCE if since else _TOTALS, {"since": since} if since else {})
    segments, babies = counted.one(), tx.execute(_BABY_TOTALS).one()
    objects, size_bytes = (int(a or 0) + int(b or 0) for a, b in zip(segments, babies, strict=True))
    return StoredTotals(objects, size_bytes)


def _key(row: tuple[str, int | None]) -> str:
    stream_id, offset = row[0], row[1]
    name = _STREAM_END if offset is None else f"{offset:0{OFFSET_DIGITS}}"
    return f"{BABIES_ROOT}{stream_id}/{name}"
