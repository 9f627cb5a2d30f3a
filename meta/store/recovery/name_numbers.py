"""Numbers of the names of datasets, groups and tenants, of which the bucket has the names.

A trigger raises `name_number` with each change, in its transaction, so that a number stands for one
name, whoever writes it to the bucket and however late. A database that was put back gives numbers
again that the bucket has: such a name takes the next number above all of those.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta import access
from meta.access import DEFAULT
from meta.errors import InvalidArgument, NameTaken, NotFound
from meta.store.catalog import dataset_names, datasets, groups
from meta.store.engine.pool import Transaction
from meta.store.engine.timelines import IS_HELD
from meta.store.recovery import returned_tenants
from meta.store.versions import upgrades
from segments.dataset_names import DatasetName, parse, reserved_for_groups
from segments.noted_names import (
    CHARACTERS_MAX,
    DATASET,
    DELETED,
    GROUP,
    SUSPENDED,
    TENANT,
    NotedName,
)

NONE = -1


@dataclass(frozen=True, slots=True)
class DueName:
    """A name that the bucket does not have, or one `is_gone` that it still has."""

    kind: str
    id: UUID
    number: int
    noted: NotedName
    is_gone: bool


@dataclass(frozen=True, slots=True)
class KnownName:
    """A name that the database has; `noted_number` is None until it is taken from the bucket."""

    id: UUID
    noted: NotedName
    noted_number: int | None
    is_live: bool


@dataclass(frozen=True, slots=True)
class RestoredName:
    """A name that came back, with its numbers; by default the bucket has none."""

    name: str
    title: str = ""
    group_id: UUID | None = None
    name_number: int = 1
    noted_number: int | None = NONE
    tenant_id: UUID = DEFAULT.id

    @property
    def is_plain(self) -> bool:
        """Whether it is a name of the default group of `default`."""
        return self.group_id is None and self.tenant_id == DEFAULT.id


# The time from which an entry cannot come back. A tenant's object stays: a restored database would
# have the tenant without it.
_GONE = {DATASET: "purged_at", GROUP: "deleted_at", TENANT: "purged_at"}
_TENANT_ID = "(SELECT t.id::text FROM tenants t WHERE t.key = tenant_key) AS tenant_id"
# Columns of a NotedName.
_NAME = {
    DATASET: f"name, title, coalesce(group_id::text, ''), {_TENANT_ID}, ''",
    GROUP: f"name, '', '', {_TENANT_ID}, ''",
    TENANT: f"""name, '', '', '', CASE WHEN deleted_at IS NOT NULL THEN '{DELETED}'
      WHEN suspended_at IS NOT NULL THEN '{SUSPENDED}' ELSE '' END""",
}
_REMOVED = {
    kind: "" if kind == TENANT else f" OR {gone} IS NOT NULL AND noted_number >= 0"
    for kind, gone in _GONE.items()
}


def _due(kind: str) -> str:
    # Those that changed are before those from before the upgrade, which have the number 0.
    return f"""
    (SELECT '{kind}', id, name_number, {_NAME[kind]}, {_GONE[kind]} IS NOT NULL
     FROM {kind}s
     WHERE ({_GONE[kind]} IS NULL AND noted_number <> name_number{_REMOVED[kind]})
       AND ({_GONE[kind]} IS NULL OR NOT (SELECT {IS_HELD} FROM meta_state))
       AND EXISTS (SELECT FROM witness_state WHERE history IS NOT NULL AND superseded_by IS NULL)
     ORDER BY name_number DESC LIMIT :most)
    """  # noqa: S608


_DUE = text(" UNION ALL ".join(_due(kind) for kind in (TENANT, GROUP, DATASET)) + "LIMIT :most")
# A call that changes a dataset is not waited for: its change makes the name due again. A name
# that a server wrote after the entry was gone is noted, so that it is due for removal.
_NOTE = {
    kind: text(f"""
        WITH noted AS (
          SELECT id, number
          FROM unnest(cast(:ids AS uuid[]), cast(:numbers AS bigint[])) AS n (id, number)
          JOIN {kind}s USING (id)
          WHERE number = {NONE} AND {gone} IS NOT NULL OR noted_number < number
          FOR NO KEY UPDATE OF {kind}s SKIP LOCKED)
        UPDATE {kind}s e SET noted_number = n.number FROM noted n WHERE e.id = n.id
    """)  # noqa: S608
    for kind, gone in _GONE.items()
}
_FIND_DUE = {
    kind: text(f"""
        SELECT name_number, {_NAME[kind]} FROM {kind}s
        WHERE id = :id AND {gone} IS NULL AND noted_number <> name_number
    """)  # noqa: S608
    for kind, gone in _GONE.items()
}
_PAGE = {
    kind: text(f"""
        SELECT id, noted_number, deleted_at IS NULL, {name}
        FROM {kind}s WHERE id > :after ORDER BY id LIMIT :most
    """)  # noqa: S608
    for kind, name in _NAME.items()
}
_SETTLE = {
    kind: text(
        f"UPDATE {kind}s SET name_number = :number, noted_number = :noted WHERE id = :id"  # noqa: S608
    )
    for kind in _GONE
}
_FORGET = {
    kind: text(f"UPDATE {kind}s SET noted_number = {NONE} WHERE id = ANY(:ids)")  # noqa: S608
    for kind in _GONE
}
_TITLE = text("UPDATE datasets SET title = :title WHERE id = :id")
_TENANT_KEY = text("SELECT tenant_key FROM datasets WHERE id = :id")
_GIVE = text("UPDATE datasets SET tenant_key = :tenant WHERE id = :id")
_SKIP = {
    kind: text(
        f"UPDATE {kind}s SET name_number = :next WHERE id = :id AND name_number = :number"  # noqa: S608
    )
    for kind in _GONE
}


def due(tx: Transaction, most: int) -> list[DueName]:
    """Some names that are due, the latest changes first; none of a database without a witness."""
    return [
        DueName(kind, entry_id, number, NotedName(*name), is_gone)
        for kind, entry_id, number, *name, is_gone in tx.execute(_DUE, {"most": most})
    ]


def find_due(tx: Transaction, kind: str, entry_id: UUID) -> DueName | None:
    """The name of one entry that is not gone, if it is due."""
    row = tx.execute(_FIND_DUE[kind], {"id": entry_id}).one_or_none()
    if row is None:
        return None
    number, *name = row
    return DueName(kind, entry_id, number, NotedName(*name), is_gone=False)


def note(tx: Transaction, noted: Mapping[str, Mapping[UUID, int]]) -> None:
    """Record the numbers that the bucket has, by kind and id; NONE for entries that are gone."""
    for kind, numbers in noted.items():
        if numbers:
            values = {"ids": list(numbers), "numbers": list(numbers.values())}
            tx.execute(_NOTE[kind], values)


def page(tx: Transaction, kind: str, after: UUID, most: int) -> list[KnownName]:
    """A page of all names, deleted ones too, in the order of ids."""
    return [
        KnownName(entry_id, NotedName(*name), noted_number, is_live)
        for entry_id, noted_number, is_live, *name in tx.execute(
            _PAGE[kind], {"after": after, "most": most}
        )
    ]


def forget(tx: Transaction, kind: str, entry_ids: Sequence[UUID]) -> None:
    """Record that the bucket does not have some names any more, so that they are due."""
    tx.execute(_FORGET[kind], {"ids": list(entry_ids)})


def settle(
    tx: Transaction, entry_id: UUID, number: int, *, is_noted: bool = False, kind: str = DATASET
) -> None:
    """Give an entry that came back its numbers; `number` is the highest that the bucket has."""
    values = {"id": entry_id, "noted": number, "number": number + (not is_noted)}
    tx.execute(_SETTLE[kind], values)


def take(
    tx: Transaction,
    dataset_id: UUID,
    awaited: str,
    noted: NotedName,
    number: int,
    *,
    is_noted: bool = True,
) -> str:
    """Give a dataset that came back the name and tenant of the bucket; answers it as it is called.

    One that is not named `awaited` any more keeps both. `is_noted` says that the bucket has just
    this name. Raises NotFound, also for its group, NameTaken, InvalidArgument for one that is too
    long.
    """
    datasets.lock_columns(tx, [dataset_id])
    former_key = tx.execute(_TENANT_KEY, {"id": dataset_id}).scalar_one_or_none()
    if former_key is None:
        raise NotFound("there is no such dataset", dataset_id=dataset_id)
    with access.as_operator_in(former_key):
        current = datasets.get(tx, dataset_id).name
    if current != awaited:
        settle(tx, dataset_id, number)
        return current
    key = returned_tenants.find_key(tx, noted.tenant_id)
    if key not in (None, former_key):
        tx.execute(_GIVE, {"id": dataset_id, "tenant": key})
    with access.as_operator_in(former_key if key is None else key):
        _rename(tx, dataset_id, noted)
    tx.execute(_TITLE, {"id": dataset_id, "title": noted.title})
    settle(tx, dataset_id, number, is_noted=is_noted and key is not None)
    return datasets.get(tx, dataset_id).name


def _rename(tx: Transaction, dataset_id: UUID, noted: NotedName) -> None:
    group = groups.get(tx, UUID(noted.group_id)).name if noted.group_id else None
    name = DatasetName(group, noted.name)
    first_part = parse(str(name)).group
    if first_part != group and first_part and groups.find(tx, first_part):
        raise NameTaken("it would be a dataset of a group", dataset_name=name)
    if len(str(name)) > CHARACTERS_MAX:
        raise InvalidArgument("the name is too long with its group", dataset_name=name)
    dataset_names.rename(tx, dataset_id, name)


def add_group(tx: Transaction, group_id: UUID, noted: NotedName | None, number: int) -> str:
    """Write a group that is not known; answers its name. Raises UpgradeUnfinished, NameTaken."""
    upgrades.require_finished(tx, "a group")
    fallback = f"reconciled-{group_id}"
    name = noted.name if noted and not reserved_for_groups(noted.name) else fallback
    key = returned_tenants.find_key(tx, noted.tenant_id if noted else "")
    with access.as_operator_in(returned_tenants.awaited_key(tx) if key is None else key):
        try:
            group = groups.create(tx, name, group_id)
        except NameTaken:
            group = None
        if group is None or group.id != group_id:
            name = groups.create(tx, fallback, group_id).name
    is_noted = noted is not None and noted.name == name and key is not None
    settle(tx, group_id, number, is_noted=is_noted, kind=GROUP)
    return name


def skip(tx: Transaction, due_name: DueName, next_number: int) -> None:
    """Give a name another number, unless it has changed meanwhile."""
    values = {"id": due_name.id, "number": due_name.number, "next": next_number}
    tx.execute(_SKIP[due_name.kind], values)
