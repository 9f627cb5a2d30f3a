"""Groups of datasets: created, renamed from a version on, deleted once nothing is in them.

The default group has no row: it is NULL in `datasets.group_id`. The row of a group stays when it
is deleted, because versions that can be read may show datasets under its name.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, bindparam, insert, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert

from meta.errors import (
    InvalidArgument,
    NameTaken,
    NotFound,
    QuotaExceeded,
    RaceLost,
    StillReferenced,
)
from meta.store.access import audit
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.engine.row_columns import row_columns
from meta.store.tables.groups import group_visibility
from meta.store.tables.groups import groups as groups_table
from meta.store.versions import versions
from meta.store.versions.clock import NOW
from segments.ids import new_uuid7

GROUPS_MAX = 10_000
_SHOWN_BLOCKERS = 10


@dataclass(frozen=True, slots=True)
class DatasetGroup:
    """A live group of datasets."""

    id: UUID
    name: str
    created_at: datetime


_COLUMNS = row_columns(DatasetGroup, groups_table)
_LIVE = select(*_COLUMNS).where(
    groups_table.c.deleted_at.is_(None), scope.is_reached(groups_table.c.tenant_key)
)
_BY_ID = _LIVE.where(groups_table.c.id == bindparam("group"))
_BY_NAME = _LIVE.where(
    groups_table.c.tenant_key == scope.NAMING_TENANT, groups_table.c.name == bindparam("group")
)
# KEY SHARE: waits for a deletion (FOR UPDATE), not for a new name.
_KEEP = _BY_NAME.with_for_update(read=True, key_share=True)
_LOCK = _BY_ID.with_for_update()
_INSERT = upsert(groups_table).on_conflict_do_nothing().returning(*_COLUMNS)
_OF = text("""
    SELECT DISTINCT group_id FROM datasets
    WHERE id = ANY(:datasets) AND group_id IS NOT NULL AND deleted_at IS NULL
""").bindparams(bindparam("datasets", type_=ARRAY(Uuid)))
_COUNT = scope.statement(
    "SELECT count(*) FROM groups WHERE deleted_at IS NULL AND tenant_key = :naming_tenant"
)
_SHOW = insert(group_visibility)
_RENAME = (
    update(groups_table)
    .where(groups_table.c.id == bindparam("group"))
    .values(name=bindparam("new_name"))
)
_END_NAME = text(
    "UPDATE group_visibility SET to_version = :version, name = :old_name"
    " WHERE group_id = :group AND to_version IS NULL"
)
# A deleted dataset can come back until it is purged.
_BLOCKERS = text("""
    SELECT CASE WHEN deleted_at IS NULL THEN 'dataset ' ELSE 'deleted dataset ' END || name
    FROM datasets WHERE group_id = :group AND purged_at IS NULL
    ORDER BY deleted_at NULLS FIRST, name LIMIT :most
""")
_LONGEST = text("""
    SELECT name FROM datasets WHERE group_id = :group AND purged_at IS NULL
    ORDER BY char_length(name) DESC LIMIT 1
""")
_DELETE = text("UPDATE groups SET deleted_at = clock_timestamp() WHERE id = :group")
# True if the interval `v` of a dataset `d` is of versions that can be read or are pinned.
IS_READABLE = f"""
    (v.to_version IS NULL OR v.to_version > d.deletion_horizon
     OR v.name IS NULL AND d.purged_at IS NULL
     OR EXISTS (SELECT FROM pins p WHERE p.dataset_key = d.key
                  AND p.version < v.to_version AND p.expires_at > {NOW}))
"""
# Names with a slash of the default group, today or at such a version.
_SLASHED = scope.statement(f"""
    SELECT d.id, coalesce(v.name, d.name) AS name
    FROM datasets d LEFT JOIN dataset_visibility v ON v.dataset_key = d.key
    WHERE d.tenant_key = :naming_tenant AND split_part(coalesce(v.name, d.name), '/', 1) = :name
      AND strpos(coalesce(v.name, d.name), '/') > 0
      AND CASE WHEN v.name IS NULL THEN d.group_id ELSE v.group_id END IS NULL
      AND {IS_READABLE}
    ORDER BY d.key LIMIT 1
""")  # noqa: S608


def create(tx: Transaction, name: str, group_id: UUID | None = None) -> DatasetGroup:
    """The group of this name, made unless there is one; `group_id` is that of one that comes back.

    Raises QuotaExceeded, NameTaken for a part of a dataset's name.
    """
    existing = find(tx, name)
    if existing is not None:
        return existing
    _check_free(tx, name)
    values = {"id": group_id or new_uuid7(), "name": name, "tenant_key": scope.naming_key()}
    row = tx.execute(_INSERT, values).one_or_none()
    if row is None:
        existing = find(tx, name)
        if existing is None:
            raise RaceLost("the group of this name was deleted or renamed meanwhile")
        return existing
    audit.note(tx, "CreateGroup", row.id, f"name {name!r}")
    version = versions.allocate(tx)
    tx.execute(_SHOW, {"group_id": row.id, "from_version": version})
    # Counted behind the counter's lock, which creations take one after the other.
    if tx.execute(_COUNT).scalar_one() > GROUPS_MAX:
        raise QuotaExceeded(f"there are {GROUPS_MAX} groups already", limit=GROUPS_MAX)
    return DatasetGroup(*row)


def restore(
    tx: Transaction,
    group_id: UUID,
    name: str,
    numbers: tuple[int, int | None],
    version: int,
    tenant_key: int,
) -> None:
    """Write a group of a lost database, visible from a version on.

    `numbers` are those of its name, and of the name that the bucket has.
    """
    values = {"id": group_id, "name": name, "name_number": numbers[0], "noted_number": numbers[1]}
    tx.execute(insert(groups_table), values | {"tenant_key": tenant_key})
    tx.execute(_SHOW, {"group_id": group_id, "from_version": version})


def find(tx: Transaction, identifier: UUID | str) -> DatasetGroup | None:
    """The live group with this id or, as text, this name."""
    statement = _BY_ID if isinstance(identifier, UUID) else _BY_NAME
    row = tx.execute(statement, {"group": identifier}).one_or_none()
    return None if row is None else DatasetGroup(*row)


def get(tx: Transaction, identifier: UUID | str) -> DatasetGroup:
    """Like `find`; raises NotFound."""
    group = find(tx, identifier)
    if group is None:
        raise NotFound("there is no such group", group=identifier)
    return group


def visible_ids(tx: Transaction) -> list[UUID] | None:
    """Ids of the groups of the datasets that the caller may see; None = all."""
    visible = scope.visible_ids()
    return None if visible is None else list(tx.execute(_OF, {"datasets": visible}).scalars())


def keep(tx: Transaction, name: str | None) -> UUID | None:
    """The id of a group that stays until the commit; None = the default group. Raises NotFound."""
    if name is None:
        return None
    row = tx.execute(_KEEP, {"group": name}).one_or_none()
    if row is None:
        raise NotFound("there is no such group", group=name)
    return UUID(str(row.id))


def rename(
    tx: Transaction, identifier: UUID | str, new_name: str, *, characters_max: int
) -> DatasetGroup:
    """Rename a group from the next version on, by one row; again, it changes nothing.

    Raises NotFound, NameTaken, InvalidArgument if the whole name of a dataset in it would have more
    than `characters_max`.
    """
    group = _lock(tx, identifier)
    if group.name == new_name:
        return group
    if find(tx, new_name) is not None:
        raise NameTaken("another group has this name", group=new_name)
    _check_free(tx, new_name)
    longest = tx.execute(_LONGEST, {"group": group.id}).scalar_one_or_none()
    if longest is not None and len(f"{new_name}/{longest}") > characters_max:
        raise InvalidArgument(
            f"the name of dataset {longest!r} would have {len(new_name) + 1 + len(longest)}"
            f" characters with its group, more than {characters_max}",
            field="new_name",
        )
    tx.execute(_RENAME, {"group": group.id, "new_name": new_name})
    audit.note(tx, "RenameGroup", group.id, audit.states(group.name, new_name))
    version = versions.allocate(tx)
    values = {"group": group.id, "old_name": group.name, "version": version}
    tx.execute(_END_NAME, values)
    tx.execute(_SHOW, {"group_id": group.id, "from_version": version})
    return get(tx, group.id)


def delete(tx: Transaction, identifier: UUID | str) -> bool:
    """Delete an empty group; False if there is none. Raises StillReferenced."""
    if find(tx, identifier) is None:
        return False
    group = _lock(tx, identifier)
    values = {"group": group.id, "most": _SHOWN_BLOCKERS}
    blockers = list(tx.execute(_BLOCKERS, values).scalars())
    if blockers:
        raise StillReferenced(
            "datasets are in the group, or can still be restored",
            group_id=group.id,
            blockers=", ".join(blockers),
        )
    tx.execute(_DELETE, values)
    audit.note(tx, "DeleteGroup", group.id, f"name {group.name!r}")
    return True


def _lock(tx: Transaction, identifier: UUID | str) -> DatasetGroup:
    group = get(tx, identifier)
    row = tx.execute(_LOCK, {"group": group.id}).one_or_none()
    if row is None:
        raise NotFound("there is no such group", group=identifier)
    return DatasetGroup(*row)


def _check_free(tx: Transaction, name: str) -> None:
    """Refuse the part before the first slash of a dataset's name: a text means one dataset."""
    row = tx.execute(_SLASHED, {"name": name}).one_or_none()
    if row is not None:
        raise NameTaken(
            f"a dataset of an earlier release has or had the name {row.name!r}, which would be one"
            " of the group",
            dataset_id=row.id,
            dataset_name=row.name,
        )
