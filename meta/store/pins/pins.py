"""Pins: leases on a dataset at a version, which keep the segments that it shows from deletion.

A version is readable at or above its dataset's deletion horizon, or while it is pinned. Held are
the segments with created <= pin < tombstone; a pin of changes holds all with pin < tombstone, so
the horizon stays at or below it and the changes since can be read. Taking a pin and raising the
horizon lock the dataset's row, and the transaction that raises it removes the pins that have
expired: a pin that is a row holds all of its segments, whatever the clocks say.

Only the principal that took a pin, or an operator, may renew, release or list it. A pin that was
taken while no credential was needed has no principal. Any caller that knows its id may use it, so
that a server which begins to ask for credentials ends no reader's pin.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from meta import access
from meta.errors import NameTaken, NotFound, QuotaExceeded, VersionExpired
from meta.roles import Role
from meta.store.catalog import shown_names
from meta.store.engine import scope, timelines
from meta.store.engine.pool import TimelineChanged, Transaction, run_in
from meta.store.engine.scope import is_visible
from meta.store.lookup import lookup, moments
from meta.store.versions import versions
from meta.store.versions.clock import NOW

# Any number, the same in every release: pins are counted and inserted one after the other.
LOCK_KEY = 7_310_579_241_902_116


@dataclass(frozen=True, slots=True)
class PinLimits:
    """Bounds of pins: seconds, numbers, and compressed bytes of tombstoned segments."""

    lease_secs: float = 3_600.0
    age_secs: float = 86_400.0
    per_owner: int = 1_000
    total: int = 10_000
    held_bytes_per_owner: int = 2**40


# A principal gets no further pins by other names, and a tenant none by other principals.
_SAME = (
    "(principal = :principal AND (principal <> '' OR owner = :owner)"
    " OR starts_with(principal, nullif(cast(:of_tenant AS text), '')))"
)
_COUNT = text(
    f"SELECT count(*), count(*) FILTER (WHERE {_SAME}) FROM pins"  # noqa: S608
    f" WHERE expires_at > {NOW}"
)
_HELD_BY_OTHERS = text(
    "SELECT coalesce(sum(held_bytes), 0)::bigint FROM pins"  # noqa: S608
    f" WHERE {_SAME} AND id <> :id AND expires_at > {NOW}"
)


def check_number(tx: Transaction, principal: str, owner: str, limits: PinLimits) -> None:
    """Raise QuotaExceeded if the caller, or all together, have as many pins as they may."""
    values = {"principal": principal, "owner": owner, "of_tenant": _of_tenant()}
    total, owned = tx.execute(_COUNT, values).one()
    most = min(limits.per_owner, access.current.get().account_shares.of(limits.total))
    if owned >= most:
        raise QuotaExceeded(f"{_holder(principal, owner)} has {owned} pins already", limit=most)
    if total >= limits.total:
        raise QuotaExceeded(f"there are {total} pins already", limit=limits.total)


def check_bytes(
    tx: Transaction, principal: str, owner: str, pin_id: UUID, held_bytes: int, limits: PinLimits
) -> None:
    """Raise QuotaExceeded if a pin of `held_bytes` and its owner's others would hold too much."""
    values = {"principal": principal, "owner": owner, "id": pin_id, "of_tenant": _of_tenant()}
    others = int(tx.execute(_HELD_BY_OTHERS, values).scalar_one())
    if others + held_bytes > limits.held_bytes_per_owner:
        raise QuotaExceeded(
            f"pins of {_holder(principal, owner)} would hold {others + held_bytes} bytes of"
            f" segments that are to be deleted, more than {limits.held_bytes_per_owner}",
            limit=limits.held_bytes_per_owner,
        )


def _of_tenant() -> str:
    """The beginning of all principals of the caller's tenant; "" = they count by themselves."""
    caller = access.current.get()
    tenant = caller.tenant
    return tenant.subject("") if tenant is not None and caller.is_of_other_tenant else ""


def _holder(principal: str, owner: str) -> str:
    return "the tenant" if _of_tenant() else repr(access.shown_subject(principal) or owner)


def principal_of_caller() -> str:
    """The principal of pins that the caller takes; "" = nobody."""
    caller = access.current.get()
    return "" if caller.is_anonymous else caller.subject


def is_operator() -> bool:
    """True if the caller may end, renew and list the pins of others."""
    return access.current.get().role is Role.ADMIN


def is_own(principal: str) -> bool:
    """True if the caller may use a pin of this principal."""
    return is_operator() or principal in ("", access.current.get().subject)


@dataclass(frozen=True, slots=True)
class NewPin:
    """A pin to take; `version` None means the current one, or that of a time."""

    id: UUID
    owner: str
    dataset_name: str
    version: int | None
    lease_secs: float
    holds_changes: bool = False
    as_of_nanos: int | None = None


@dataclass(frozen=True, slots=True)
class PinRow:
    """A pin, and the bytes it held when it was taken or last renewed; times in nanoseconds."""

    id: UUID
    owner: str
    dataset_id: UUID
    dataset_name: str
    version: int
    created_at_nanos: int
    expires_at_nanos: int
    ends_at_nanos: int
    # Rounded down; 0 once it has expired.
    left_secs: int
    held_segments: int
    held_bytes: int
    holds_changes: bool
    # Subject of the caller that took it; "" = none.
    principal: str


@dataclass(frozen=True, slots=True)
class Released:
    """A pin that was ended: its principal, its name and its version."""

    owner: str
    version: int
    principal: str


@dataclass(frozen=True, slots=True)
class Held:
    """The tombstoned segments that a pin holds."""

    segments: int
    size_bytes: int
    oldest_tombstone_at: datetime | None


@dataclass(frozen=True, slots=True)
class Pinned:
    """Pinned versions of a dataset, ascending, and the first of those with their changes."""

    versions: Sequence[int]
    changes_from: int | None

    def holds(self, created_version: int, tombstone_version: int) -> bool:
        """True if a pin holds a segment of this lifetime."""
        if self.changes_from is not None and self.changes_from < tombstone_version:
            return True
        first = bisect_left(self.versions, created_version)
        return first < len(self.versions) and self.versions[first] < tombstone_version


NOT_PINNED = Pinned((), None)
# The name at the pinned version, by which its segments are found.
PIN_COLUMNS = f"""
    p.id, p.owner, d.id, coalesce((
      SELECT {shown_names.at("d", "v", "p.version")} FROM dataset_visibility v
      WHERE v.dataset_key = d.key AND v.from_version <= p.version
        AND (v.to_version IS NULL OR v.to_version > p.version)), {shown_names.of("d")}), p.version,
    (extract(epoch FROM p.created_at) * 1000000)::bigint * 1000,
    (extract(epoch FROM p.expires_at) * 1000000)::bigint * 1000,
    (extract(epoch FROM p.ends_at) * 1000000)::bigint * 1000,
    greatest(0, floor(extract(epoch FROM p.expires_at - clock_timestamp())))::bigint,
    p.held_segments, p.held_bytes, p.holds_changes, p.principal
"""  # noqa: S608
_TAKE_TURNS = text("SELECT pg_advisory_xact_lock(:key)")
_FIND = scope.statement(
    f"SELECT {PIN_COLUMNS} FROM pins p JOIN datasets d ON d.key = p.dataset_key"  # noqa: S608
    f" WHERE p.id = :id AND p.expires_at > {NOW} AND {scope.reaches('d')}"
)
# Others that have expired are removed in the background; this one's id may be used again.
_FORGET = text(f"DELETE FROM pins WHERE id = :id AND expires_at <= {NOW}")  # noqa: S608
_LOCK_HORIZONS = text(
    "SELECT key FROM datasets WHERE key = ANY(:keys) ORDER BY key FOR NO KEY UPDATE"
)
_HORIZON = text("SELECT deletion_horizon FROM datasets WHERE key = :key")
_END_VOID = text(f"""
    DELETE FROM pins p USING datasets d
    WHERE d.key = p.dataset_key AND d.key = ANY(:keys)
      AND (p.expires_at <= {NOW} OR (
        p.version < d.deletion_horizon AND d.pins_horizon IS DISTINCT FROM d.deletion_horizon))
""")  # noqa: S608
_AGREE = text("""
    UPDATE datasets SET pins_horizon = deletion_horizon
    WHERE key = ANY(:keys) AND pins_horizon IS DISTINCT FROM deletion_horizon
""")
_PINNED = text(
    "SELECT dataset_key, array_agg(version ORDER BY version),"
    " min(version) FILTER (WHERE holds_changes)"
    " FROM pins WHERE dataset_key = ANY(:keys) GROUP BY dataset_key"
)
_HELD = text("""
    SELECT count(*), coalesce(sum(compressed_size_bytes), 0)::bigint,
           -- That of a hidden segment never ends.
           min(nullif(tombstone_at, 'infinity'))
    FROM segments WHERE dataset_key = :key AND tombstone_version IS NOT NULL
      AND tombstone_version > :version AND (:holds_changes OR created_version <= :version)
""")
# However often a version is pinned, nothing is held longer than the age after its grace.
_INSERT = text("""
    WITH bound AS (
      SELECT least(clock_timestamp(), cast(:oldest AS timestamptz) + make_interval(
               secs => coalesce(nullif(tombstone_grace_secs, 0), :grace)))
             + make_interval(secs => :age) AS ends_at
      FROM datasets WHERE key = :key)
    INSERT INTO pins (id, owner, dataset_key, version, created_at, expires_at, ends_at,
                      held_segments, held_bytes, holds_changes, principal)
    SELECT :id, :owner, :key, :version, clock_timestamp(),
           least(ends_at, clock_timestamp() + make_interval(secs => :lease)), ends_at,
           :held_segments, :held_bytes, :holds_changes, :principal
    FROM bound WHERE ends_at > clock_timestamp()
""")
_LOCK = text(
    "SELECT owner, principal, dataset_key, version, holds_changes FROM pins"
    " WHERE id = :id FOR UPDATE"
)
_RENEW = text(f"""
    UPDATE pins SET held_segments = :held_segments, held_bytes = :held_bytes,
           expires_at = least(ends_at, greatest(
             expires_at, clock_timestamp() + make_interval(secs => :lease)))
    WHERE id = :id AND expires_at > {NOW}
""")  # noqa: S608
_RELEASE = text(
    "DELETE FROM pins WHERE id = :id AND (cast(:is_operator AS boolean) OR principal IN ('', :own))"
    " RETURNING owner, version, principal"
)


def take(tx: Transaction, new: NewPin, limits: PinLimits, grace_secs: float) -> PinRow:
    """Take a pin, or return the one that an earlier call with the same id took.

    Raises NotFound, VersionExpired, QuotaExceeded, NameTaken for another pin's id. All pins take
    turns, so a turn is short: the sizes that the pin holds are read before it, and the lock of the
    dataset's row, for which a pin may wait, is taken before it.
    """
    existing = find(tx, new.id)
    if existing is not None:
        return _repeated(existing, new)
    principal = principal_of_caller()
    # A caller without a place is refused before the work, and surely in its turn.
    check_number(tx, principal, new.owner, limits)
    if new.as_of_nanos is not None:
        at = moments.version_at(tx, new.dataset_name, new.as_of_nanos, grace_secs)
        new = replace(new, version=at)
    version = _version(tx, new.version)
    (dataset,) = lookup.visible_datasets(tx, [new.dataset_name], version)
    held = _held(tx, dataset.key, version, new.holds_changes)
    _lock_readable(tx, new, dataset.key, version)
    tx.execute(_TAKE_TURNS, {"key": LOCK_KEY})
    existing = find(tx, new.id)
    if existing is not None:
        return _repeated(existing, new)
    check_number(tx, principal, new.owner, limits)
    check_bytes(tx, principal, new.owner, new.id, held.size_bytes, limits)
    values = {
        "id": new.id,
        "owner": new.owner,
        "principal": principal,
        "key": dataset.key,
        "version": version,
        "oldest": held.oldest_tombstone_at,
        "grace": grace_secs,
        "age": limits.age_secs,
        "lease": min(new.lease_secs, limits.lease_secs),
        "held_segments": held.segments,
        "held_bytes": held.size_bytes,
        "holds_changes": new.holds_changes,
    }
    tx.execute(_FORGET, values)
    if tx.execute(_INSERT, values).rowcount == 0:
        raise VersionExpired(
            f"pins have held segments of the version for {limits.age_secs:g} s already",
            version=version,
        )
    return _get(tx, new.id)


def renew(tx: Transaction, pin_id: UUID, lease_secs: float, limits: PinLimits) -> PinRow:
    """Extend the lease of a pin, up to its end. Raises NotFound, QuotaExceeded."""
    row = tx.execute(_LOCK, {"id": pin_id}).one_or_none()
    if row is not None and is_own(row.principal):
        held = _held(tx, row.dataset_key, row.version, row.holds_changes)
        check_bytes(tx, row.principal, row.owner, pin_id, held.size_bytes, limits)
        values = {
            "id": pin_id,
            "lease": min(lease_secs, limits.lease_secs),
            "held_segments": held.segments,
            "held_bytes": held.size_bytes,
        }
        tx.execute(_RENEW, values)
    return _get(tx, pin_id)


def release(tx: Transaction, pin_id: UUID) -> Released | None:
    """End a pin at once; None if there is none that the caller may end."""
    subject = access.current.get().subject
    values = {"id": pin_id, "is_operator": is_operator(), "own": subject}
    row = tx.execute(_RELEASE, values).one_or_none()
    return None if row is None else Released(*row)


def find(tx: Transaction, pin_id: UUID) -> PinRow | None:
    """The pin with this id, unless its lease has expired."""
    row = tx.execute(_FIND, {"id": pin_id}).one_or_none()
    return None if row is None else PinRow(*row)


def lock_horizons(tx: Transaction, dataset_keys: Sequence[int]) -> Mapping[int, Pinned]:
    """Lock the horizons of datasets and return their pinned versions.

    Pins that have expired, or are void, are removed: they hold nothing from here on.
    """
    values = {"keys": list(dataset_keys)}
    tx.execute(_LOCK_HORIZONS, values)
    tx.execute(_END_VOID, values)
    tx.execute(_AGREE, values)
    return {row[0]: Pinned(row[1], row[2]) for row in tx.execute(_PINNED, values)}


def _repeated(existing: PinRow, new: NewPin) -> PinRow:
    same = (existing.owner, existing.dataset_name) == (new.owner, new.dataset_name)
    same = same and new.holds_changes == existing.holds_changes and _is_callers(existing)
    if not same or new.version not in (None, existing.version):
        raise NameTaken("another pin has this id", pin_id=new.id)
    return existing


def _lock_readable(tx: Transaction, new: NewPin, dataset_key: int, version: int) -> None:
    """Lock the dataset's row, then check that the version can be read."""
    lock_horizons(tx, [dataset_key])
    (locked,) = lookup.visible_datasets(tx, [new.dataset_name], version)
    if locked.key != dataset_key:
        # The dataset was deleted and created again.
        raise NotFound("there is no such dataset", dataset_name=new.dataset_name)
    if new.holds_changes and version < int(tx.execute(_HORIZON, {"key": locked.key}).scalar_one()):
        # Readable because another pin holds it, which may hold no changes.
        raise VersionExpired("changes since the version are forgotten", version=version)


def _version(tx: Transaction, requested: int | None) -> int:
    try:
        snapshot = versions.snapshot(tx)
    except TimelineChanged:
        timelines.check(run_in(tx))
        snapshot = versions.snapshot(tx)
    return lookup.readable_version(tx, snapshot, requested, field="version")


def _held(tx: Transaction, dataset_key: int, version: int, holds_changes: bool) -> Held:
    values = {"key": dataset_key, "version": version, "holds_changes": holds_changes}
    return Held(*tx.execute(_HELD, values).one())


def _get(tx: Transaction, pin_id: UUID) -> PinRow:
    pin = find(tx, pin_id)
    if pin is None or not _is_callers(pin):
        raise NotFound("there is no such pin: it has expired or was released", pin_id=pin_id)
    return pin


def _is_callers(pin: PinRow) -> bool:
    return is_own(pin.principal) and is_visible(pin.dataset_id)
