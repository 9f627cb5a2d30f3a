"""Tenants: teams of one installation, each with its own datasets, tokens and catalog.

A suspended tenant can neither send nor read, and none of its records are deleted. A deleted one
cannot either; once its grace is over its datasets are deleted (`meta.store.deletion.tenants`). The
tenant `default` exists from the start and stays as it is.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Row, Select, Uuid, bindparam, func, select, text

from meta.access import DEFAULT_TENANT
from meta.errors import InvalidArgument, NameTaken, NotFound, QuotaExceeded, UndeleteExpired
from meta.store.access import audit
from meta.store.engine import keyset
from meta.store.engine.pool import Transaction
from meta.store.engine.row_columns import row_columns
from meta.store.tables.tenants import tenants
from meta.store.versions.clock import ago
from segments.ids import new_uuid7

# Live ones, and deleted ones whose grace lasts.
TENANTS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant; `key` is the short id that rows of the catalog carry."""

    id: UUID
    key: int
    name: str
    created_at: datetime
    suspended_at: datetime | None = None
    deleted_at: datetime | None = None
    # Name of the store of its new datasets; "" = the default store.
    store: str = ""


_ALL: Select[*tuple[Any, ...]] = select(*row_columns(Tenant, tenants))
_KEPT = _ALL.where(tenants.c.purged_at.is_(None))
_BY_ID = _KEPT.where(tenants.c.id == bindparam("tenant"))
_ANY = _ALL.where(tenants.c.id == bindparam("tenant"))
_BY_NAME = _ALL.where(tenants.c.name == bindparam("tenant"), tenants.c.deleted_at.is_(None))
_BY_IDS = _KEPT.where(tenants.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid))))
_LISTED: Select[*tuple[Any, ...]] = select(
    tenants.c.id, func.octet_length(tenants.c.name).label("size")
).where(tenants.c.purged_at.is_(None))
_LOCK = _KEPT.where(tenants.c.id == bindparam("tenant")).with_for_update()
# Readers are not delayed; creations take turns, so that the count is right.
_LOCK_TABLE = text("LOCK TABLE tenants IN SHARE ROW EXCLUSIVE MODE")
_COUNT = text("SELECT count(*) FROM tenants WHERE purged_at IS NULL")
_INSERT = text("INSERT INTO tenants (id, name) VALUES (:id, :name)").bindparams(
    bindparam("id", type_=Uuid)
)
_RENAME = text("UPDATE tenants SET name = :name WHERE key = :key")
_SUSPEND = text("UPDATE tenants SET suspended_at = clock_timestamp() WHERE key = :key")
_RESUME = text("UPDATE tenants SET suspended_at = NULL WHERE key = :key")
_DELETE = text("UPDATE tenants SET deleted_at = clock_timestamp() WHERE key = :key")
_PLACE = text("UPDATE tenants SET store = :store WHERE key = :key")
_UNDELETE = text("UPDATE tenants SET deleted_at = NULL WHERE key = :key")
_IS_OVER = text(f"SELECT deleted_at <= {ago(':grace')} FROM tenants WHERE key = :key")  # noqa: S608


def find(tx: Transaction, identifier: UUID | str) -> Tenant | None:
    """The tenant with this id, also a deleted one in its grace, or the live one with this name."""
    statement = _BY_ID if isinstance(identifier, UUID) else _BY_NAME
    return _made(tx.execute(statement, {"tenant": identifier}).one_or_none())


def get(tx: Transaction, identifier: UUID | str) -> Tenant:
    """Like `find`; raises NotFound."""
    tenant = find(tx, identifier)
    if tenant is None:
        raise NotFound("there is no such tenant", tenant=identifier)
    return tenant


def get_any(tx: Transaction, tenant_id: UUID) -> Tenant:
    """The tenant with this id, also one that is being purged. Raises NotFound."""
    tenant = _made(tx.execute(_ANY, {"tenant": tenant_id}).one_or_none())
    if tenant is None:
        raise NotFound("there is no such tenant", tenant=tenant_id)
    return tenant


def list_page(tx: Transaction, window: keyset.Window) -> keyset.Page[Tenant]:
    """One page of the tenants, deleted ones in their grace too."""
    return keyset.read_rows(tx, _LISTED, window, _BY_IDS, Tenant)


def create(tx: Transaction, name: str) -> Tenant:
    """Create a tenant; the caller has found none of this name. Raises QuotaExceeded."""
    tx.execute(_LOCK_TABLE)
    existing = find(tx, name)
    if existing is not None:
        return existing
    tenant_id = new_uuid7()
    tx.execute(_INSERT, {"id": tenant_id, "name": name})
    _check_count(tx)
    audit.note(tx, "CreateTenant", tenant_id, f"name {name!r}")
    return get(tx, tenant_id)


def rename(tx: Transaction, identifier: UUID | str, new_name: str) -> Tenant:
    """Rename a tenant; again, it changes nothing. Raises NotFound, NameTaken."""
    tenant = lock(tx, identifier)
    if tenant.name == new_name:
        return tenant
    _check_free(tx, new_name)
    tx.execute(_RENAME, {"key": tenant.key, "name": new_name})
    audit.note(tx, "RenameTenant", tenant.id, audit.states(tenant.name, new_name))
    return get(tx, tenant.id)


def suspend(tx: Transaction, identifier: UUID | str) -> Tenant:
    """Suspend a tenant; again, it changes nothing. Raises NotFound."""
    tenant = lock(tx, identifier)
    if tenant.suspended_at is None:
        tx.execute(_SUSPEND, {"key": tenant.key})
        audit.note(tx, "SuspendTenant", tenant.id, f"name {tenant.name!r}")
    return get(tx, tenant.id)


def resume(tx: Transaction, identifier: UUID | str) -> Tenant:
    """End a suspension; again, it changes nothing. Raises NotFound."""
    tenant = lock(tx, identifier)
    if tenant.suspended_at is not None:
        tx.execute(_RESUME, {"key": tenant.key})
        audit.note(tx, "ResumeTenant", tenant.id, f"name {tenant.name!r}")
    return get(tx, tenant.id)


def place(tx: Transaction, identifier: UUID | str, store: str) -> Tenant:
    """Name the store of a tenant's new datasets; again, it changes nothing. Raises NotFound."""
    tenant = lock(tx, identifier)
    if tenant.store != store:
        tx.execute(_PLACE, {"key": tenant.key, "store": store})
        audit.note(tx, "SetTenantStore", tenant.id, audit.states(tenant.store, store))
    return get(tx, tenant.id)


def delete(tx: Transaction, identifier: UUID | str) -> bool:
    """Delete a tenant, whose grace then begins; False if there is none, or it is deleted."""
    if find(tx, identifier) is None:
        return False
    tenant = lock(tx, identifier)
    if tenant.deleted_at is not None:
        return False
    tx.execute(_DELETE, {"key": tenant.key})
    audit.note(tx, "DeleteTenant", tenant.id, f"name {tenant.name!r}")
    return True


def undelete(tx: Transaction, tenant_id: UUID, grace_secs: float) -> Tenant:
    """Bring a tenant back in its grace; a live one stays. Raises NotFound and those below.

    UndeleteExpired once the grace is over, NameTaken if another one has its name.
    """
    tenant = lock(tx, tenant_id)
    if tenant.deleted_at is None:
        return tenant
    if tx.execute(_IS_OVER, {"key": tenant.key, "grace": grace_secs}).scalar_one():
        raise UndeleteExpired("the time in which it can come back is over", tenant_id=tenant_id)
    _check_free(tx, tenant.name)
    tx.execute(_UNDELETE, {"key": tenant.key})
    audit.note(tx, "UndeleteTenant", tenant.id, f"name {tenant.name!r}")
    return get(tx, tenant.id)


def lock(tx: Transaction, identifier: UUID | str) -> Tenant:
    """Keep a tenant as it is until the commit. Raises NotFound, InvalidArgument for `default`."""
    tenant = get(tx, identifier)
    if tenant.key == DEFAULT_TENANT:
        raise InvalidArgument("the tenant default stays as it is", field="identifier")
    locked = _made(tx.execute(_LOCK, {"tenant": tenant.id}).one_or_none())
    if locked is None:
        raise NotFound("there is no such tenant", tenant=identifier)
    return locked


def _check_free(tx: Transaction, name: str) -> None:
    tx.execute(_LOCK_TABLE)
    if find(tx, name) is not None:
        raise NameTaken("another tenant has this name", tenant=name)


def _check_count(tx: Transaction) -> None:
    if tx.execute(_COUNT).scalar_one() > TENANTS_MAX:
        raise QuotaExceeded(f"there are {TENANTS_MAX} tenants already", limit=TENANTS_MAX)


def _made(row: Row[*tuple[Any, ...]] | None) -> Tenant | None:
    return None if row is None else Tenant(*row)
