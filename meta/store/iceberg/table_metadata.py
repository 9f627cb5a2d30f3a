"""Metadata of datasets as tables: registered objects, snapshots made of them, and handing them out.

An object is written under a fresh key, then registered by the digest of its input: of two with one
digest the first stays. Its key carries the database's time at which it was named: a registration is
refused after an hour, and an object without a row is deleted after a day, so none is registered
whose object is being deleted. A row of another history of the database is void: the objects of a
backup may have been deleted after it was made.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from uuid import UUID

from sqlalchemy import text

from meta.errors import InvalidArgument, KeyTaken, NotFound, QuotaExceeded, VersionExpired
from meta.store.engine import timelines
from meta.store.engine.pool import TimelineChanged, Transaction, run_in
from meta.store.lookup import lookup
from meta.store.versions import versions
from segments.keys import TableKey, parse_key

SNAPSHOTS_LISTED = 100
# A gateway makes one every few seconds at most, and they stay for a grace.
SNAPSHOTS_MAX = 10_000
REGISTERED_WITHIN_SECS = 3_600
# Any number, the same in every release: the calls about one table take turns.
_LOCK_SPACE = 73_105_792


@dataclass(frozen=True, slots=True)
class TableObject:
    """An object of a table's metadata; with an empty key, one that is not registered."""

    digest: bytes
    object_key: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class NewSnapshot:
    """A dataset at a version, described by registered objects."""

    version: int
    manifest_list: bytes
    manifests: tuple[bytes, ...]
    segments: int
    number_of_events: int
    size_bytes: int
    # Digest of the keys by which the list names its manifests; empty = not known.
    manifest_keys_digest: bytes = b""


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A registered snapshot; `object_key` is that of the list of its manifests."""

    version: int
    object_key: str
    committed_at_millis: int
    segments: int
    number_of_events: int
    size_bytes: int


_TAKE_TURNS = text("SELECT pg_advisory_xact_lock(cast(:space AS integer), cast(:key AS integer))")
_GAP_END = "(SELECT gap_end FROM meta_state)"
_NOW_SECS = text("SELECT extract(epoch FROM now())::bigint")
_BY_DIGEST = text(f"""
    SELECT digest, object_key, size_bytes FROM table_objects
    WHERE dataset_key = :key AND digest = ANY(:digests) AND gap_end = {_GAP_END}
""")  # noqa: S608
_TOUCH_OBJECTS = text("""
    UPDATE table_objects SET handed_out_at = now(), examined_at = now()
    WHERE dataset_key = :key AND digest = ANY(:digests)
""")
# A void row gives its place to the new object; its own becomes an orphan.
_INSERT_OBJECTS = text(f"""
    INSERT INTO table_objects AS o (dataset_key, digest, object_key, size_bytes, gap_end)
    SELECT :key, n.digest, n.object_key, n.size_bytes, {_GAP_END}
    FROM unnest(cast(:digests AS bytea[]), cast(:keys AS text[]), cast(:sizes AS bigint[]))
           AS n (digest, object_key, size_bytes)
    ON CONFLICT (dataset_key, digest) DO UPDATE
      SET object_key = excluded.object_key, size_bytes = excluded.size_bytes,
          gap_end = excluded.gap_end, handed_out_at = now(), examined_at = now()
      WHERE o.gap_end <> excluded.gap_end
""")  # noqa: S608
_KEYS_IN_USE = text("""
    SELECT object_key FROM table_objects
    WHERE object_key = ANY(:keys) AND (dataset_key, digest) NOT IN (
      SELECT :key, d FROM unnest(cast(:digests AS bytea[])) AS d) LIMIT 1
""")
_OBJECT_IDS = text(f"""
    SELECT o.id, o.object_key
    FROM unnest(cast(:digests AS bytea[])) WITH ORDINALITY AS n (digest, place)
    JOIN table_objects o ON o.dataset_key = :key AND o.digest = n.digest
      AND o.gap_end = {_GAP_END} ORDER BY n.place
""")  # noqa: S608
_COUNT_SNAPSHOTS = text("SELECT count(*) FROM table_snapshots WHERE dataset_key = :key")
# The time of the last change at or below the version, between those of its neighbours.
_INSERT_SNAPSHOT = text(f"""
    INSERT INTO table_snapshots AS s (dataset_key, version, object_ids, gap_end, committed_at_ms,
                                      segments, number_of_events, size_bytes)
    SELECT :key, :version, :ids, {_GAP_END},
           greatest(b.lowest, least(b.highest, (extract(epoch FROM greatest(
             d.created_at,
             (SELECT created_at FROM segments WHERE dataset_key = :key
                AND created_version <= :version ORDER BY created_version DESC LIMIT 1),
             (SELECT tombstone_at FROM segments WHERE dataset_key = :key
                AND tombstone_version <= :version
                AND tombstone_at < 'infinity' ORDER BY tombstone_version DESC LIMIT 1)
           )) * 1000)::bigint)),
           :segments, :number_of_events, :size_bytes
    FROM datasets d CROSS JOIN (
      SELECT coalesce(max(committed_at_ms) FILTER (WHERE version < :version), 0) AS lowest,
             coalesce(min(committed_at_ms) FILTER (WHERE version > :version), 2::bigint^62)::bigint
               AS highest
      FROM table_snapshots WHERE dataset_key = :key) b
    WHERE d.key = :key
    ON CONFLICT (dataset_key, version) DO UPDATE
      SET object_ids = excluded.object_ids, gap_end = excluded.gap_end, handed_out_at = now(),
          examined_at = now()
      WHERE s.gap_end <> excluded.gap_end
""")  # noqa: S608
# A version is readable at or above the horizon, or while it is pinned.
_READABLE = """
    (s.version >= d.deletion_horizon
     OR d.pins_horizon IS NOT DISTINCT FROM d.deletion_horizon AND EXISTS (
       SELECT FROM pins p WHERE p.dataset_key = d.key AND p.version = s.version
         AND p.expires_at > now()))
"""
_SNAPSHOT_COLUMNS = """
    s.version, o.object_key, s.committed_at_ms, s.segments, s.number_of_events, s.size_bytes
"""
_LIST = text(f"""
    SELECT {_SNAPSHOT_COLUMNS}
    FROM table_snapshots s JOIN datasets d ON d.key = s.dataset_key
    JOIN table_objects o ON o.id = s.object_ids[1]
    WHERE s.dataset_key = :key AND s.version <= :version AND s.gap_end = {_GAP_END}
      AND {_READABLE}
    ORDER BY s.version DESC LIMIT :most
""")  # noqa: S608
_GET = text(f"""
    SELECT {_SNAPSHOT_COLUMNS}
    FROM table_snapshots s JOIN table_objects o ON o.id = s.object_ids[1]
    WHERE s.dataset_key = :key AND s.version = :version AND s.gap_end = {_GAP_END}
""")  # noqa: S608
_TOUCH_SNAPSHOTS = text(f"""
    UPDATE table_snapshots s SET handed_out_at = now(), examined_at = now()
    FROM datasets d
    WHERE d.key = s.dataset_key AND s.dataset_key = :key AND s.version = ANY(:versions)
      AND s.gap_end = {_GAP_END}
    RETURNING s.version, {_READABLE} AS is_readable
""")  # noqa: S608


def list_snapshots(tx: Transaction, dataset_key: int, version: int) -> list[SnapshotRow]:
    """The latest snapshots up to a version that can be read now, in the order of versions."""
    values = {"key": dataset_key, "version": version, "most": SNAPSHOTS_LISTED}
    rows = tx.execute(_LIST, values).all()
    return [SnapshotRow(*row) for row in reversed(rows)]


def put_objects(
    tx: Transaction, dataset_id: UUID, dataset_key: int, objects: Sequence[TableObject]
) -> list[TableObject]:
    """Register the objects that have a key; returns the registered object of each digest."""
    _begin(tx, dataset_key)
    values = {"key": dataset_key, "digests": [table_object.digest for table_object in objects]}
    new = {table_object.digest: table_object for table_object in objects if table_object.object_key}
    if new:
        _check_keys(tx, dataset_id, [table_object.object_key for table_object in new.values()])
        parameters = {
            "key": dataset_key,
            "digests": list(new),
            "keys": [table_object.object_key for table_object in new.values()],
            "sizes": [table_object.size_bytes for table_object in new.values()],
        }
        if (taken := tx.execute(_KEYS_IN_USE, parameters).scalar_one_or_none()) is not None:
            raise KeyTaken("the key is registered with another digest", object_key=taken)
        tx.execute(_INSERT_OBJECTS, parameters)
    tx.execute(_TOUCH_OBJECTS, values)
    stored = {bytes(row[0]): row for row in tx.execute(_BY_DIGEST, values)}
    return [
        TableObject(table_object.digest, *stored[table_object.digest][1:])
        if table_object.digest in stored
        else TableObject(table_object.digest, "", 0)
        for table_object in objects
    ]


def put_snapshot(tx: Transaction, dataset_key: int, new: NewSnapshot) -> SnapshotRow:
    """Register a snapshot, or return the one of its version.

    Raises NotFound if one of its objects is not registered, or under another key.
    """
    _begin(tx, dataset_key)
    existing = _find(tx, dataset_key, new.version)
    if existing is not None:
        return existing
    # Nothing is known yet of versions to come.
    lookup.readable_version(tx, versions.snapshot(tx), new.version, field="version")
    digests = [new.manifest_list, *new.manifests]
    objects = tx.execute(_OBJECT_IDS, {"key": dataset_key, "digests": digests}).all()
    if len(objects) < len(digests):
        missing = len(digests) - len(objects)
        raise NotFound(f"{missing} of {len(digests)} objects are not registered")
    # An object that was deleted and written again has another key than the list may know.
    keys_digest = new.manifest_keys_digest
    if keys_digest and keys_digest != digest_of_keys(
        [table_object.object_key for table_object in objects[1:]]
    ):
        raise NotFound("the manifests are registered under other keys by now")
    if tx.execute(_COUNT_SNAPSHOTS, {"key": dataset_key}).scalar_one() >= SNAPSHOTS_MAX:
        raise QuotaExceeded(f"the table has {SNAPSHOTS_MAX} snapshots", limit=SNAPSHOTS_MAX)
    ids = [table_object.id for table_object in objects]
    values = {**asdict(new), "key": dataset_key, "ids": ids}
    tx.execute(_INSERT_SNAPSHOT, values)
    row = _find(tx, dataset_key, new.version)
    assert row is not None, "inserted above"
    return row


def hand_out(tx: Transaction, dataset_key: int, versions: Sequence[int], document: bytes) -> str:
    """Keep snapshots and a document for a grace from now on; returns the document's key.

    Raises VersionExpired if one cannot be read, NotFound if one is not registered any more.
    """
    _begin(tx, dataset_key)
    values = {"key": dataset_key, "versions": list(versions)}
    readable = {row.version: row.is_readable for row in tx.execute(_TOUCH_SNAPSHOTS, values)}
    for version in versions:
        if version not in readable:
            raise NotFound("the snapshot is not registered any more", version=version)
        if not readable[version]:
            raise VersionExpired("objects of the version may be deleted", version=version)
    digests = {"key": dataset_key, "digests": [document]}
    tx.execute(_TOUCH_OBJECTS, digests)
    row = tx.execute(_BY_DIGEST, digests).one_or_none()
    if row is None:
        raise NotFound("the document is not registered any more")
    return str(row.object_key)


def digest_of_keys(keys: Sequence[str]) -> bytes:
    """The digest of object keys in their order."""
    return sha256("\n".join(keys).encode()).digest()


def lock(tx: Transaction, dataset_key: int) -> None:
    """Wait for the other calls about this table, until the transaction ends."""
    tx.execute(_TAKE_TURNS, {"space": _LOCK_SPACE, "key": dataset_key})


def _begin(tx: Transaction, dataset_key: int) -> None:
    lock(tx, dataset_key)
    try:
        versions.snapshot(tx)
    except TimelineChanged:
        timelines.check(run_in(tx))


def _find(tx: Transaction, dataset_key: int, version: int) -> SnapshotRow | None:
    row = tx.execute(_GET, {"key": dataset_key, "version": version}).one_or_none()
    return None if row is None else SnapshotRow(*row)


def _check_keys(tx: Transaction, dataset_id: UUID, keys: Sequence[str]) -> None:
    now_secs = int(tx.execute(_NOW_SECS).scalar_one())
    for index, key in enumerate(keys):
        name = parse_key(key)
        field = f"objects[{index}].object_key"
        if not isinstance(name, TableKey) or name.dataset_id != str(dataset_id):
            raise InvalidArgument(
                f"{key!r} is not a key of the metadata of this dataset's table", field=field
            )
        if abs(now_secs - name.epoch_secs) > REGISTERED_WITHIN_SECS:
            raise InvalidArgument(
                f"{key!r} was named more than {REGISTERED_WITHIN_SECS} s ago: write the object"
                " again, under another key",
                field=field,
            )
