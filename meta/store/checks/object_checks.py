"""Findings of reads of objects: checksums filled in later, proven damage, the scrub's position."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.pins.pin_lists import HELD
from meta.store.segments.foreign_files import UNREADABLE
from meta.store.streams import merged_offsets
from segments.keys import BABIES_ROOT, BabyKey, parse_key

SCRUB_NAME = "janitor"
# Longer than a janitor takes between two reports, however large an object is.
SCRUB_LEASE_SECS = 300
FORGOTTEN_MAX = 1_000


class ObjectCheck(NamedTuple):
    """The outcome of reading one object; damage "" = it is sound, of this checksum."""

    object_key: str
    damage: str
    crc32c: int


class ScrubPosition(NamedTuple):
    """Position of a pass of the scrub; counts and bytes are of this pass."""

    checked_through: str
    objects: int
    size_bytes: int
    is_complete: bool
    began_at_nanos: int


class DamagedObject(NamedTuple):
    """An object that readers or nurseries need and that is damaged; ids are "" for a baby."""

    object_key: str
    segment_id: str
    dataset_id: str
    damage: str
    found_at_nanos: int


# Damage of live and pinned segments, and of babies that some dataset has not merged. The rest is
# forgotten, and so is that of files of others that readers skip.
DAMAGED = f"""
    SELECT o.object_key, o.damage, o.found_at, s.id::text AS segment_id,
           d.id::text AS dataset_id, b.stream_id::text AS stream_id
    FROM damaged_objects o
    LEFT JOIN object_identities i ON i.object_key = o.object_key AND i.state = 1
    LEFT JOIN segments s ON s.id = i.segment_id AND (s.tombstone_version IS NULL OR ({HELD}))
         AND s.foreign_state IS DISTINCT FROM {UNREADABLE}
    LEFT JOIN datasets d ON d.key = s.dataset_key
    LEFT JOIN LATERAL (
        SELECT b.stream_id FROM baby_segments b
        WHERE starts_with(o.object_key, 'ingest-stream/')
          AND b.stream_id = CASE WHEN starts_with(o.object_key, 'ingest-stream/')
                                 THEN substring(o.object_key FROM 15 FOR 36)::uuid END
          AND b."offset" = CASE WHEN starts_with(o.object_key, 'ingest-stream/')
                                THEN substring(o.object_key FROM 52)::bigint END
          AND {merged_offsets.awaited_by('e.merged_offset < b."offset"')}) b ON true
    WHERE s.id IS NOT NULL OR b.stream_id IS NOT NULL
"""  # noqa: S608
_LIST = text(f"""
    SELECT object_key, coalesce(segment_id, ''), coalesce(dataset_id, ''), damage,
      (extract(epoch FROM found_at) * 1000000)::bigint * 1000
    FROM ({DAMAGED}) d WHERE object_key > :after ORDER BY object_key LIMIT :most
""")  # noqa: S608
_DAMAGED_KEYS = text(f"""
    SELECT object_key FROM ({DAMAGED}) d WHERE object_key = ANY(:keys) ORDER BY object_key
""")  # noqa: S608
_COUNT = text(f"SELECT count(*) FROM ({DAMAGED}) d")  # noqa: S608
_FORGET_UNNEEDED = text(f"""
    DELETE FROM damaged_objects WHERE object_key = ANY(ARRAY(
      SELECT object_key FROM damaged_objects
      WHERE object_key NOT IN (SELECT object_key FROM ({DAMAGED}) d) LIMIT :most))
""")  # noqa: S608
# Damage of what nobody needs is not recorded: its row would stand until it expires.
_RECORD = text("""
    INSERT INTO damaged_objects (object_key, damage) VALUES (:key, :damage)
    ON CONFLICT (object_key) DO UPDATE SET damage = excluded.damage
""")
_FORGET = text("DELETE FROM damaged_objects WHERE object_key = ANY(:keys)")
_FILL_SEGMENT = text("""
    UPDATE segments s SET crc32c = :crc, crc32c_read_at = clock_timestamp()
    FROM object_identities i
    WHERE i.object_key = :key AND i.state = 1 AND s.id = i.segment_id AND s.crc32c IS NULL
""")
_FILL_BABY = text("""
    UPDATE baby_segments SET crc32c = :crc, crc32c_read_at = clock_timestamp()
    WHERE stream_id = :stream AND "offset" = :offset AND crc32c IS NULL
""")
# Without a holder the lease is neither read nor changed.
_SAVE_POSITION = text("""
    INSERT INTO scrub_state AS s (name, checked_through, objects, size_bytes, is_complete, began_at,
                                  holder, lease_until)
    VALUES (:name, :checked_through, :objects, :size_bytes, :is_complete,
            timestamptz 'epoch' + (:began_at_nanos / 1000) * interval '1 microsecond',
            nullif(:holder, ''),
            CASE WHEN :holder <> '' THEN clock_timestamp() + make_interval(secs => :lease) END)
    ON CONFLICT (name) DO UPDATE SET checked_through = excluded.checked_through,
      objects = excluded.objects, size_bytes = excluded.size_bytes,
      is_complete = excluded.is_complete, began_at = excluded.began_at,
      holder = coalesce(excluded.holder, s.holder),
      lease_until = coalesce(excluded.lease_until, s.lease_until)
    WHERE :holder IN ('', s.holder) OR s.lease_until IS NULL
       OR s.lease_until <= clock_timestamp()
    RETURNING name
""")
_POSITION = text("""
    SELECT checked_through, objects, size_bytes, is_complete,
           (extract(epoch FROM began_at) * 1000000)::bigint * 1000,
           CASE WHEN lease_until > clock_timestamp() THEN holder ELSE '' END
    FROM scrub_state WHERE name = :name
""")


def record(tx: Transaction, checks: Sequence[ObjectCheck]) -> list[str]:
    """Record damage, forget that of sound objects, and fill in the checksums that are missing.

    Answers the keys of these objects that are damaged and needed.
    """
    # Rows are locked in one order, so that two callers do not deadlock.
    ordered = sorted(checks)
    for check in ordered:
        if check.damage and _may_be_needed(check.object_key):
            tx.execute(_RECORD, {"key": check.object_key, "damage": check.damage})
    sound = [check for check in ordered if not check.damage]
    tx.execute(_FORGET, {"keys": [check.object_key for check in sound]})
    for check in sound:
        name = parse_key(check.object_key)
        if isinstance(name, BabyKey):
            values = {"stream": name.stream_id, "offset": name.offset, "crc": check.crc32c}
            tx.execute(_FILL_BABY, values)
        else:
            tx.execute(_FILL_SEGMENT, {"key": check.object_key, "crc": check.crc32c})
    tx.execute(_FORGET_UNNEEDED, {"most": FORGOTTEN_MAX})
    keys = [check.object_key for check in ordered]
    return list(tx.execute(_DAMAGED_KEYS, {"keys": keys}).scalars())


def _may_be_needed(key: str) -> bool:
    """False for a key below the root of babies that is none: the statements read its parts."""
    return not key.startswith(BABIES_ROOT) or isinstance(parse_key(key), BabyKey)


def list_damaged(tx: Transaction, after: str, most: int) -> list[DamagedObject]:
    """The damaged objects behind a key, in key order."""
    rows = tx.execute(_LIST, {"after": after, "most": most})
    return list(map(DamagedObject._make, rows))


def count_damaged(tx: Transaction) -> int:
    """Number of objects whose damage is proven."""
    return int(tx.execute(_COUNT).scalar_one())


def save_position(tx: Transaction, position: ScrubPosition, holder: str = "") -> bool:
    """Store how far the scrub has come and renew its holder's lease; false while another holds it.

    A holder of "" is one of a release without leases.
    """
    values = {"name": SCRUB_NAME, "holder": holder, "lease": SCRUB_LEASE_SECS}
    return tx.execute(_SAVE_POSITION, values | position._asdict()).scalar_one_or_none() is not None


def find_position(tx: Transaction) -> tuple[ScrubPosition | None, str]:
    """The position that was kept last, and the holder whose lease runs, or ""."""
    row = tx.execute(_POSITION, {"name": SCRUB_NAME}).one_or_none()
    if row is None:
        return None, ""
    *position, holder = row
    return ScrubPosition(*position), holder
