"""The rows that name objects, in the order of keys: of segments, then of unmerged babies.

A row says whether its object must be there for some reader, and whether readers of now need it:
only that one is read for damage.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.pins.pin_lists import HELD
from meta.store.segments.foreign_files import UNREADABLE
from meta.store.streams import merged_offsets
from segments.keys import BABIES_ROOT, OFFSET_DIGITS

# Sorts behind every key in UTF-8.
LAST_KEY = "\U0010ffff"
# Behind every time.
_FAR = 2**62
ID_MIN, ID_MAX = UUID(int=0), UUID(int=2**128 - 1)
_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def stream_bound(key: str, otherwise: UUID) -> UUID:
    """The stream that a key lies in, if the key is within a stream; else no bound."""
    stream_id = key.removeprefix(BABIES_ROOT)[:36]
    is_bound = key.startswith(BABIES_ROOT) and _UUID.fullmatch(stream_id)
    return UUID(stream_id) if is_bound else otherwise


def baby_position(key: str) -> tuple[UUID, int]:
    """Behind which (stream, offset) babies come after a key; before all of them for another key."""
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
    is_damaged: bool
    # A live or pinned segment that readers do not skip, or a baby that is not merged.
    is_needed: bool
    # Also if a reader of an older version may ask for it.
    must_exist: bool
    segment_id: str = ""
    dataset_id: str = ""


class KeySpan(NamedTuple):
    """The keys behind `after`, up to and with `through`."""

    after: str = ""
    through: str = LAST_KEY


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


_BEGAN = "timestamptz 'epoch' + (:began / 1000) * interval '1 microsecond'"
# Rows without a segment are returned, too: a page is bounded by the rows that it reads. Objects
# handed out for deletion may be missing, and those written after a listing began are not in it.
_SEGMENTS = text(f"""
    WITH page AS MATERIALIZED (
        SELECT object_key, segment_id FROM object_identities
        WHERE object_key > :after AND object_key <= :through AND state = 1
        ORDER BY object_key LIMIT :most)
    SELECT p.object_key, s.compressed_size_bytes, s.crc32c, s.crc32c_read_at IS NOT NULL,
           EXISTS (SELECT FROM damaged_objects o WHERE o.object_key = p.object_key),
           s.created_version > :since AND s.foreign_state IS DISTINCT FROM {UNREADABLE}
             AND ((s.tombstone_version IS NULL AND d.deleted_at IS NULL) OR ({HELD})),
           s.created_at < {_BEGAN}
             AND (s.tombstone_version IS NULL OR s.tombstone_version > d.deletion_horizon)
             AND NOT EXISTS (SELECT FROM losses l WHERE l.segment_id = s.id),
           s.id::text, d.id::text
    FROM page p LEFT JOIN segments s ON s.id = p.segment_id
         LEFT JOIN datasets d ON d.key = s.dataset_key
    ORDER BY p.object_key
""")  # noqa: S608
# Read by streams: rows of reaped babies stay for a day, and a page must not read them all. A stream
# without such babies is one row. A baby that every dataset has merged may be deleted before its
# stream's deleted offset shows it.
_BABIES = text(f"""
    SELECT s.id::text, b."offset", b.size_bytes, b.crc32c, b.crc32c_read_at IS NOT NULL,
           EXISTS (SELECT FROM damaged_objects o WHERE o.object_key =
                   'ingest-stream/' || s.id || '/' || lpad(b."offset"::text, 20, '0')),
           b."offset" > m.merged,
           b."offset" > m.merged
             AND b.committed_at < {_BEGAN}
    FROM (SELECT id, deleted_offset FROM ingest_streams
          WHERE id >= :behind AND id <= :last AND retired_at IS NULL
            AND NOT (id = :behind AND :behind_offset = 9223372036854775807)
          ORDER BY id LIMIT :most) s
    JOIN stream_heads h ON h.stream_id = s.id
    CROSS JOIN LATERAL (
        SELECT coalesce({merged_offsets.lowest_in("s", "h")}, h.committed_offset) AS merged
        OFFSET 0) m
    LEFT JOIN LATERAL (
        SELECT "offset", size_bytes, crc32c, crc32c_read_at, committed_at FROM baby_segments
        WHERE stream_id = s.id AND "offset" > s.deleted_offset
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


def read_page(
    tx: Transaction, span: KeySpan, most: int, *, since: int = 0, began_nanos: int = _FAR
) -> StoredPage:
    """Read the rows of a span of keys, at most `most`; fewer, even none, before the last page.

    Segments up to the version `since` are not needed, and nothing that was registered from
    `began_nanos` on must exist.
    """
    values = {"after": span.after, "through": span.through, "most": most, "began": began_nanos}
    if span.after < BABIES_ROOT:
        rows = list(tx.execute(_SEGMENTS, {**values, "since": since}))
        objects = tuple(_stored(row[0], row[1:]) for row in rows if row[7] is not None)
        next_after = rows[-1][0] if len(rows) == most else BABIES_ROOT
        return StoredPage(objects, next_after if next_after < span.through else "")
    if span.after > BABIES_ROOT + LAST_KEY:
        return StoredPage((), "")
    behind, behind_offset = baby_position(span.after)
    values |= {"behind": behind, "behind_offset": behind_offset}
    rows = list(tx.execute(_BABIES, {**values, "last": stream_bound(span.through, ID_MAX)}))
    babies = (_stored(_key(row), row[2:]) for row in rows if row[1] is not None)
    next_after = _key(rows[-1]) if len(rows) == most else ""
    return StoredPage(
        tuple(baby for baby in babies if span.after < baby.object_key <= span.through),
        next_after if next_after < span.through else "",
    )


def _stored(object_key: str, columns: Sequence[Any]) -> StoredObject:
    size_bytes, crc32c, is_read, is_damaged, is_needed, must_exist, *ids = columns
    flags = bool(is_damaged), bool(is_needed), bool(must_exist)
    return StoredObject(object_key, size_bytes, crc32c, bool(is_read), *flags, *ids)


def count(tx: Transaction, since: int) -> StoredTotals:
    """Count the objects and their bytes: of segments by the statistics if that is enough."""
    counted = tx.execute(_TOTALS_SINCE if since else _TOTALS, {"since": since} if since else {})
    segments, babies = counted.one(), tx.execute(_BABY_TOTALS).one()
    objects, size_bytes = (int(a or 0) + int(b or 0) for a, b in zip(segments, babies, strict=True))
    return StoredTotals(objects, size_bytes)


def _key(row: Sequence[Any]) -> str:
    stream_id, offset = row[0], row[1]
    name = _STREAM_END if offset is None else f"{offset:0{OFFSET_DIGITS}}"
    return f"{BABIES_ROOT}{stream_id}/{name}"
