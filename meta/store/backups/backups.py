"""Backups whose objects are kept: created, listed, released, ended."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta import access
from meta.errors import NameTaken, QuotaExceeded, VersionExpired
from meta.store.backups import kept_babies
from meta.store.engine.pool import Transaction
from meta.store.lookup import lookup
from meta.store.versions import upgrades, versions
from meta.store.versions.clock import NOW

OPEN_MAX = 100
# Any number, the same in every release.
LOCK_KEY = 7_310_579_241_902_117


@dataclass(frozen=True, slots=True)
class NewBackup:
    """A backup to create: the version of the copied snapshot, and for how long it is kept."""

    id: UUID
    version: int
    keep_secs: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that has not ended; times in nanoseconds, bytes of its baby segments."""

    id: UUID
    version: int
    created_at_nanos: int
    ends_at_nanos: int
    # Rounded down.
    remaining_secs: int
    note: str
    # Subject of its creator; "" = none.
    created_by: str
    streams: int
    baby_bytes: int


@dataclass(frozen=True, slots=True)
class KeptVersions:
    """Versions of the backups, ascending."""

    versions: Sequence[int]

    def holds(self, created_version: int, tombstone_version: int) -> bool:
        """True if a backup keeps a segment of this lifetime."""
        first = bisect_left(self.versions, created_version)
        return first < len(self.versions) and self.versions[first] < tombstone_version


_COLUMNS = """
    k.id, k.version, (extract(epoch FROM k.created_at) * 1000000)::bigint * 1000,
    (extract(epoch FROM k.ends_at) * 1000000)::bigint * 1000,
    greatest(0, floor(extract(epoch FROM k.ends_at - clock_timestamp())))::bigint, k.note,
    k.created_by, coalesce(s.streams, 0), coalesce(s.size_bytes, 0)
"""
_LIST = text(f"""
    SELECT {_COLUMNS} FROM backups k LEFT JOIN (
      SELECT backup_id, count(*) AS streams, sum(size_bytes)::bigint AS size_bytes
      FROM backup_streams GROUP BY backup_id) s ON s.backup_id = k.id
    WHERE cast(:id AS uuid) IS NULL OR k.id = :id
    ORDER BY k.version, k.id
""")  # noqa: S608
_EXCLUDE = text("SELECT pg_advisory_xact_lock(:key)")
_SHARE = text("SELECT pg_advisory_xact_lock_shared(:key)")
_VERSIONS = text("SELECT version FROM backups ORDER BY version")
_NUM_OPEN = text("SELECT count(*) FROM backups")
_HORIZON = text("SELECT coalesce(max(deletion_horizon), 0) FROM datasets")
_INSERT = text("""
    INSERT INTO backups (id, version, created_at, ends_at, note, created_by)
    VALUES (:id, :version, clock_timestamp(),
            clock_timestamp() + make_interval(secs => :keep), :note, :created_by)
""")
_RELEASE = text("DELETE FROM backups WHERE id = :id RETURNING version")
_END = text(f"DELETE FROM backups WHERE ends_at <= {NOW}")  # noqa: S608
_FORGET_STREAMS = text("""
    DELETE FROM backup_streams s
    WHERE NOT EXISTS (SELECT FROM backups k WHERE k.id = s.backup_id)
""")


def create(tx: Transaction, new: NewBackup, grace_secs: float) -> tuple[Backup, bool]:
    """Keep the objects of a version, or return the backup that an earlier call created.

    The second value is true if this call created it. Raises UpgradeUnfinished, QuotaExceeded,
    VersionExpired if objects of the version may be deleted, NameTaken for another backup's id.
    """
    upgrades.require_finished(tx, "a backup")
    existing = find(tx, new.id)
    if existing is None:
        # No deletion horizon rises until the commit.
        tx.execute(_EXCLUDE, {"key": LOCK_KEY})
        existing = find(tx, new.id)
    if existing is not None:
        if existing.version != new.version:
            raise NameTaken("another backup has this id", backup_id=new.id)
        return existing, False
    if tx.execute(_NUM_OPEN).scalar_one() >= OPEN_MAX:
        raise QuotaExceeded(f"{OPEN_MAX} backups have not ended", limit=OPEN_MAX)
    _check_kept(tx, new.version, grace_secs)
    values = {
        "id": new.id,
        "version": new.version,
        "keep": new.keep_secs,
        "note": new.note,
        "created_by": access.current.get().subject,
    }
    tx.execute(_INSERT, values)
    kept_babies.keep(tx, new.id, new.version)
    return list_open(tx, new.id)[0], True


def find(tx: Transaction, backup_id: UUID) -> Backup | None:
    """The backup with this id, unless it has ended."""
    rows = list_open(tx, backup_id)
    return rows[0] if rows else None


def list_open(tx: Transaction, backup_id: UUID | None = None) -> list[Backup]:
    """The backups that have not ended, by version; only the one with an id."""
    return [Backup(*row) for row in tx.execute(_LIST, {"id": backup_id})]


def release(tx: Transaction, backup_id: UUID) -> int | None:
    """End a backup at once; returns its version, None if there is none."""
    version: int | None = tx.execute(_RELEASE, {"id": backup_id}).scalar_one_or_none()
    return version


def end_over(tx: Transaction) -> int:
    """Remove backups whose time is over, and the streams of all that have ended; returns how many.

    The objects are deleted like any others from then on.
    """
    ended = tx.execute(_END).rowcount
    tx.execute(_FORGET_STREAMS)
    return ended


def lock_versions(tx: Transaction) -> KeptVersions:
    """Read the versions that backups keep; none is created until the end of the transaction."""
    tx.execute(_SHARE, {"key": LOCK_KEY})
    return KeptVersions(tx.execute(_VERSIONS).scalars().all())


def _check_kept(tx: Transaction, version: int, grace_secs: float) -> None:
    """Raise VersionExpired unless all objects of a version exist, and none of them is due."""
    lookup.readable_version(tx, versions.snapshot(tx), version, field="version")
    horizon = tx.execute(_HORIZON).scalar_one()
    if horizon > version or kept_babies.may_be_reaped(tx, version, grace_secs):
        raise VersionExpired(
            "objects of the version may be deleted: copy a later snapshot", version=version
        )
