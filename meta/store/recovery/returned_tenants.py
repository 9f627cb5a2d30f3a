"""Tenants that come back, and the tenant of what comes back without one."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, bindparam, text

from meta.access import DEFAULT_TENANT
from meta.store.engine.pool import Transaction
from segments.dataset_names import UNASSIGNED
from segments.ids import new_uuid7
from segments.noted_names import DELETED, SUSPENDED, NotedName


@dataclass(frozen=True, slots=True)
class RestoredTenant:
    """A tenant that came back, with its numbers; by default the bucket has none."""

    name: str
    state: str = ""
    name_number: int = 1
    noted_number: int = -1

    @property
    def is_deleted(self) -> bool:
        """Whether it is deleted; its name is free."""
        return self.state == DELETED


_ID = bindparam("id", type_=Uuid)
_INSERT = text(f"""
    INSERT INTO tenants (id, name, suspended_at, deleted_at, name_number, noted_number)
    VALUES (:id, :name, CASE WHEN :state = '{SUSPENDED}' THEN clock_timestamp() END,
      CASE WHEN :state = '{DELETED}' THEN clock_timestamp() END, :number, :noted)
    RETURNING key
""").bindparams(_ID)  # noqa: S608
_NUMBERS = text("SELECT id, name_number FROM tenants")
_LATER = text(
    "SELECT id, name, name_number FROM tenants WHERE id = ANY(:ids) FOR UPDATE"
).bindparams(bindparam("ids", type_=ARRAY(Uuid)))
_FREE = text("UPDATE tenants SET name = 'returned-' || id WHERE id = ANY(:ids)").bindparams(
    bindparam("ids", type_=ARRAY(Uuid))
)
_NAMED = text("SELECT FROM tenants WHERE name = :name AND deleted_at IS NULL")
_REPEAT = text(f"""
    UPDATE tenants SET name = :name,
      suspended_at = CASE WHEN :state = '{SUSPENDED}'
                     THEN coalesce(suspended_at, clock_timestamp()) END,
      deleted_at = CASE WHEN :state = '{DELETED}' THEN coalesce(deleted_at, clock_timestamp()) END
    WHERE id = :id
""").bindparams(_ID)  # noqa: S608
_SETTLE = text(
    "UPDATE tenants SET name_number = :number, noted_number = :noted WHERE id = :id"
).bindparams(_ID)
_HAS_SEVERAL = text(f"SELECT EXISTS (SELECT FROM tenants WHERE key <> {DEFAULT_TENANT})")  # noqa: S608
_UNASSIGNED = text("SELECT key FROM tenants WHERE name = :name AND deleted_at IS NULL")
_KEY = text("SELECT key FROM tenants WHERE id = :id AND purged_at IS NULL").bindparams(_ID)


def insert(tx: Transaction, tenant_id: UUID, tenant: RestoredTenant) -> int:
    """Write a tenant that is not known; returns its key. A deleted one begins its grace now."""
    values = {
        "id": tenant_id,
        "name": tenant.name,
        "state": tenant.state,
        "number": tenant.name_number,
        "noted": tenant.noted_number,
    }
    return int(tx.execute(_INSERT, values).scalar_one())


def numbers(tx: Transaction) -> dict[UUID, int]:
    """The numbers of the names of all tenants, by id."""
    return {row.id: row.name_number for row in tx.execute(_NUMBERS)}


def repeat(tx: Transaction, later: Mapping[UUID, tuple[int, NotedName | None]]) -> int:
    """Repeat what became of tenants after a backup, with the numbers of their objects.

    Each has its name and state of then, and those that are not known come back. One whose object
    cannot be read is suspended. A name that another one has is replaced. Returns their number.
    """
    rows = {row.id: row for row in tx.execute(_LATER, {"ids": list(later)})}
    # Another server may have changed one since the objects were read.
    passed = {i for i, row in rows.items() if later[i][0] <= row.name_number}
    # First all of them give up their names: one may have that of another one now.
    tx.execute(_FREE, {"ids": [tenant_id for tenant_id in rows if tenant_id not in passed]})
    for tenant_id, (number, noted) in later.items():
        if tenant_id in passed:
            continue
        fallback = rows[tenant_id].name if tenant_id in rows else f"returned-{tenant_id}"
        name, state = (noted.name, noted.state) if noted else (fallback, SUSPENDED)
        if state != DELETED and tx.execute(_NAMED, {"name": name}).one_or_none() is not None:
            name = f"returned-{tenant_id}"
        is_noted = noted is not None and noted.name == name
        tenant = RestoredTenant(name, state, number if is_noted else number + 1, number)
        if tenant_id not in rows:
            insert(tx, tenant_id, tenant)
            continue
        values = {"id": tenant_id, "name": name, "state": state}
        tx.execute(_REPEAT, values)
        # Behind the trigger, which counts the change.
        tx.execute(_SETTLE, {"id": tenant_id, "number": tenant.name_number, "noted": number})
    return len(later) - len(passed)


def find_key(tx: Transaction, tenant_id: str) -> int | None:
    """The key of a tenant by its id, "" = none."""
    if not tenant_id:
        return None
    key: int | None = tx.execute(_KEY, {"id": UUID(tenant_id)}).scalar_one_or_none()
    return key


def awaited_key(tx: Transaction) -> int:
    """The key of the tenant of an entry that came back without one.

    That is `default` if there is no other, else `unassigned`, which operators alone see.
    """
    if not tx.execute(_HAS_SEVERAL).scalar_one():
        return DEFAULT_TENANT
    key = tx.execute(_UNASSIGNED, {"name": UNASSIGNED}).scalar_one_or_none()
    return insert(tx, new_uuid7(), RestoredTenant(UNASSIGNED)) if key is None else int(key)
