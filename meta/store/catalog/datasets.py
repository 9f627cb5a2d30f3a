"""Datasets: names, visibility at versions, settings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Row, Select, Uuid, bindparam, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from meta.errors import NotFound, QuotaExceeded, RaceLost
from meta.store.access import catalog_authors, tenant_shares
from meta.store.catalog import dataset_counters, groups, shown_names
from meta.store.engine import keyset, scope
from meta.store.engine.pool import Transaction
from meta.store.engine.row_columns import row_columns
from meta.store.tables.catalog import dataset_visibility, datasets
from meta.store.tables.tenants import tenants
from meta.store.versions import versions
from segments.dataset_names import DatasetName
from segments.ids import new_uuid7


@dataclass(frozen=True, slots=True)
class Dataset:
    """A live or deleted dataset; `key` is the short id that segments rows carry."""

    id: UUID
    key: int
    # As others call it, `group/name`; the name alone in the default group.
    name: str
    is_default: bool
    # Name of the store of its new segments; "" = the default store.
    store: str = ""
    # The rule and the column of the deduplication keys of its events; None = they have none.
    deduplication_rule: int | None = None
    deduplication_column: str = ""
    has_automatic_columns: bool = False


_COLUMNS = row_columns(Dataset, datasets, name=shown_names.column().label("name"))
_IS_REACHED = scope.is_reached(datasets.c.tenant_key)
_ALIVE = select(*_COLUMNS).where(datasets.c.deleted_at.is_(None))
_LIVE = _ALIVE.where(_IS_REACHED)
_BY_ID = _LIVE.where(datasets.c.id == bindparam("id"))
_BY_NAME = select(*_COLUMNS).where(shown_names.is_called(parameter="name"))
_DEFAULT = _LIVE.where(datasets.c.is_default)
_ALL_LIVE = _ALIVE.order_by(datasets.c.id)
_LISTED_OF_ALL: Select[*tuple[Any, ...]] = select(
    datasets.c.id,
    func.octet_length(shown_names.column()) + catalog_authors.size_of(datasets.c.id),
).where(datasets.c.deleted_at.is_(None))
_LISTED = _LISTED_OF_ALL.where(datasets.c.tenant_key == scope.NAMING_TENANT)
_BY_IDS = _LIVE.where(datasets.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid))))
_COUNT_LIVE = select(func.count()).where(datasets.c.deleted_at.is_(None))
# KEY SHARE: waits for a deletion (FOR UPDATE), not for a raised deletion horizon.
_LOCK = (
    select(datasets.c.id, datasets.c.key)
    .where(datasets.c.deleted_at.is_(None), _IS_REACHED)
    .where(datasets.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid))))
    .order_by(datasets.c.id)
    .with_for_update(read=True, key_share=True)
)
_LOCK_SETTINGS = _BY_ID.with_for_update(key_share=True)
_LOCK_LAYOUT = _BY_ID.with_for_update(read=True)
_LOCK_COLUMNS = (
    select(datasets.c.id)
    .where(datasets.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid))), _IS_REACHED)
    .order_by(datasets.c.id)
    .with_for_update()
)
# Of new datasets of a tenant.
_STORE = select(tenants.c.store).where(tenants.c.key == bindparam("tenant"))
_INSERT = upsert(datasets).on_conflict_do_nothing().returning(*_COLUMNS)
_SHOW = insert(dataset_visibility)
_STAMP = (
    update(datasets)
    .where(datasets.c.id == bindparam("dataset"))
    .values(changed_version=bindparam("version"))
)
_PLACE = (
    update(datasets).where(datasets.c.id == bindparam("dataset")).values(store=bindparam("store_"))
)
_IDENTIFY = (
    update(datasets)
    .where(datasets.c.id == bindparam("dataset"))
    .values(deduplication_rule=bindparam("rule"), deduplication_column=bindparam("column"))
)
_CHANGED = (
    _LIVE.where(datasets.c.changed_version > bindparam("since"))
    .where(datasets.c.id > bindparam("after"))
    .order_by(datasets.c.id)
    .limit(bindparam("most"))
)


def find(tx: Transaction, dataset_id: UUID) -> Dataset | None:
    """The live dataset with this id."""
    return _dataset(tx.execute(_BY_ID, {"id": dataset_id}).one_or_none())


def find_by_name(tx: Transaction, name: str) -> Dataset | None:
    """The live dataset with this name."""
    return _dataset(tx.execute(_BY_NAME, {"name": name}).one_or_none())


def is_taken(tx: Transaction, name: str) -> bool:
    """Return true if a live dataset has a name, also one that the caller may not see."""
    return tx.execute(_BY_NAME, {"name": name}).one_or_none() is not None


def find_either(tx: Transaction, identifier: UUID | str) -> Dataset | None:
    """The live dataset with this id or, as text, this name."""
    if isinstance(identifier, UUID):
        return find(tx, identifier)
    return find_by_name(tx, identifier)


def get(tx: Transaction, identifier: UUID | str) -> Dataset:
    """The live dataset with this id or, as text, this name. Raises NotFound."""
    dataset = find_either(tx, identifier)
    if dataset is None:
        raise NotFound("there is no such dataset", dataset=identifier)
    return dataset


def find_default(tx: Transaction) -> Dataset | None:
    """The default dataset; None before the first start."""
    return _dataset(tx.execute(_DEFAULT).one_or_none())


def get_default(tx: Transaction) -> Dataset:
    """The dataset that exists from the start."""
    return Dataset(*tx.execute(_DEFAULT).one())


def list_live(tx: Transaction) -> list[Dataset]:
    """Every live dataset that the caller may see, by id; `count_visible` says how many."""
    listed, visible = scope.of_tenant(_ALL_LIVE, datasets.c.tenant_key), scope.visible_ids()
    if visible is not None:
        listed = listed.where(datasets.c.id.in_(visible))
    return [Dataset(*row) for row in tx.execute(listed)]


def count_visible(tx: Transaction) -> int:
    """Count the live datasets that the caller may see."""
    visible = scope.visible_ids()
    return count_live(tx) if visible is None else len(visible)


def list_changed(tx: Transaction, since: int, after: UUID, most: int) -> list[Dataset]:
    """Live datasets behind `after` whose layout changed after a version, by id; -1 = all."""
    values = {"since": since, "after": after, "most": most}
    return [Dataset(*row) for row in tx.execute(_CHANGED, values)]


def list_some(tx: Transaction, dataset_ids: Iterable[UUID]) -> list[Dataset]:
    """The live datasets among some."""
    return [Dataset(*row) for row in tx.execute(_BY_IDS, {"ids": list(dataset_ids)})]


def place(tx: Transaction, dataset_id: UUID, store: str) -> None:
    """Name the store of a dataset's new segments; the caller holds the dataset's row."""
    tx.execute(_PLACE, {"dataset": dataset_id, "store_": store})


def identify(tx: Transaction, dataset_id: UUID, rule: int | None, column: str) -> None:
    """Set the rule and column of the deduplication keys; the caller holds the dataset's row."""
    tx.execute(_IDENTIFY, {"dataset": dataset_id, "rule": rule, "column": column})


def stamp(tx: Transaction, dataset_id: UUID, version: versions.Version) -> None:
    """Record the version of a change that nurseries read of a dataset."""
    tx.execute(_STAMP, {"dataset": dataset_id, "version": version})


def list_page(
    tx: Transaction, window: keyset.Window, *, of_all_tenants: bool = False
) -> keyset.Page[Dataset]:
    """One page of the live datasets of the tenant of names, or of all. Raises RoleRefused."""
    if of_all_tenants:
        scope.require_all()
    listed, visible = _LISTED_OF_ALL if of_all_tenants else _LISTED, scope.visible_ids()
    if visible is not None:
        listed = listed.where(datasets.c.id.in_(visible))
    return keyset.read_rows(tx, listed, window, _BY_IDS, Dataset)


def lock_shared(tx: Transaction, dataset_ids: Iterable[UUID]) -> Mapping[UUID, int]:
    """Lock live datasets against deletion until the commit; returns their keys.

    First in the order of locks: before tokens, streams, tasks and segments. Raises NotFound.
    """
    distinct_ids = list(dict.fromkeys(dataset_ids))
    locked = {row.id: row.key for row in tx.execute(_LOCK, {"ids": distinct_ids})}
    for dataset_id in distinct_ids:
        if dataset_id not in locked:
            raise NotFound("there is no such dataset", dataset_id=dataset_id)
    return locked


def create(tx: Transaction, name: DatasetName, *, live_max: int) -> Dataset:
    """The dataset of this name, made unless there is one. Raises NotFound, QuotaExceeded."""
    group_id = groups.keep(tx, name.group)
    values = {
        "id": new_uuid7(),
        "name": name.base_name,
        "group_id": group_id,
        "tenant_key": scope.naming_key(),
        "store": tx.execute(_STORE, {"tenant": scope.naming_key()}).scalar_one(),
    }
    row = tx.execute(_INSERT, values).one_or_none()
    if row is None:
        existing = find_by_name(tx, str(name))
        if existing is None:
            raise RaceLost("the dataset of this name was deleted meanwhile")
        return existing
    made = _made_visible(tx, Dataset(*row))
    # Counted behind the counter's lock, which creations take one after the other.
    if count_live(tx) > live_max:
        raise QuotaExceeded(f"there are {live_max} datasets already", limit=live_max)
    tenant_shares.check(tx, "datasets", live_max)
    return made


def count_live(tx: Transaction) -> int:
    """Count the live datasets of the caller's tenant, or all."""
    return int(tx.execute(scope.of_tenant(_COUNT_LIVE, datasets.c.tenant_key)).scalar_one())


def lock_settings(tx: Transaction, identifier: UUID | str) -> Dataset:
    """Change a dataset's settings alone. Raises NotFound."""
    dataset = get(tx, identifier)
    # NO KEY UPDATE lets registrations continue.
    if tx.execute(_LOCK_SETTINGS, {"id": dataset.id}).one_or_none() is None:
        raise NotFound("there is no such dataset", dataset=identifier)
    return dataset


def lock_columns(tx: Transaction, dataset_ids: Iterable[UUID]) -> None:
    """Keep datasets from registrations and all other changes, until the commit; deleted ones too.

    Those that run are waited for; later ones find the columns that this transaction leaves.
    """
    tx.execute(_LOCK_COLUMNS, {"ids": list(dataset_ids)})


def lock_layout(tx: Transaction, dataset_id: UUID) -> None:
    """Keep a dataset and its promoted columns as they are until the commit. Raises NotFound."""
    if tx.execute(_LOCK_LAYOUT, {"id": dataset_id}).one_or_none() is None:
        raise NotFound("there is no such dataset", dataset_id=dataset_id)


def ensure_default(tx: Transaction, name: str) -> Dataset:
    """Create the default dataset unless there is one; a later name setting does not rename it."""
    existing = tx.execute(_DEFAULT).one_or_none()
    if existing is None:
        values = {"id": new_uuid7(), "name": name, "is_default": True}
        row = tx.execute(_INSERT, values).one_or_none()
        if row is not None:
            return _made_visible(tx, Dataset(*row))
    return get_default(tx)


def _made_visible(tx: Transaction, dataset: Dataset) -> Dataset:
    version = versions.allocate(tx)
    dataset_counters.begin(tx, dataset.key)
    tx.execute(_SHOW, {"dataset_key": dataset.key, "from_version": version})
    stamp(tx, dataset.id, version)
    return dataset


def _dataset(row: Row[*tuple[Any, ...]] | None) -> Dataset | None:
    if row is None or not scope.is_visible(row.id):
        return None
    return Dataset(*row)
