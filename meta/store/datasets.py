"""Datasets: names, visibility at versions, settings."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Row, bindparam, insert, select
from sqlalchemy.dialects.postgresql import insert as upsert

from meta.store import versions
from meta.store.engine import Transaction
from meta.store.tables import dataset_stats, dataset_visibility, datasets
from segments.keys import new_uuid7


@dataclass(frozen=True, slots=True)
class Dataset:
    """A live or deleted dataset; `key` is the short id that segments rows carry."""

    id: UUID
    key: int
    name: str
    is_default: bool


_COLUMNS = (datasets.c.id, datasets.c.key, datasets.c.name, datasets.c.is_default)
_LIVE = select(*_COLUMNS).where(datasets.c.deleted_at.is_(None))
_BY_ID = _LIVE.where(datasets.c.id == bindparam("id"))
_BY_NAME = _LIVE.where(datasets.c.name == bindparam("name"))
_DEFAULT = _LIVE.where(datasets.c.is_default)
_INSERT = insert(datasets).returning(*_COLUMNS)
_SHOW = insert(dataset_visibility)
_COUNT = insert(dataset_stats)
_INSERT_DEFAULT = upsert(datasets).on_conflict_do_nothing().returning(*_COLUMNS)


def find(tx: Transaction, dataset_id: UUID) -> Dataset | None:
    """The live dataset with this id."""
    return _dataset(tx.execute(_BY_ID, {"id": dataset_id}).one_or_none())


def find_by_name(tx: Transaction, name: str) -> Dataset | None:
    """The live dataset with this name."""
    return _dataset(tx.execute(_BY_NAME, {"name": name}).one_or_none())


def get_default(tx: Transaction) -> Dataset:
    """The dataset that exists from the start."""
    return Dataset(*tx.execute(_DEFAULT).one())


def create(tx: Transaction, name: str) -> Dataset:
    """Insert a dataset, visible from the version this call draws. Raises NameTaken."""
    row = tx.execute(_INSERT, {"id": new_uuid7(), "name": name}).one()
    return _made_visible(tx, Dataset(*row))


def ensure_default(tx: Transaction, name: str) -> Dataset:
    """Create the default dataset unless there is one; a later name setting does not rename it."""
    found = tx.execute(_DEFAULT).one_or_none()
    if found is None:
        values = {"id": new_uuid7(), "name": name, "is_default": True}
        row = tx.execute(_INSERT_DEFAULT, values).one_or_none()
        if row is not None:
            return _made_visible(tx, Dataset(*row))
    return get_default(tx)


def _made_visible(tx: Transaction, dataset: Dataset) -> Dataset:
    tx.execute(_COUNT, {"dataset_key": dataset.key})
    version = versions.allocate(tx)
    tx.execute(_SHOW, {"dataset_key": dataset.key, "from_version": version})
    return dataset


def _dataset(row: Row[UUID, int, str, bool] | None) -> Dataset | None:
    return None if row is None else Dataset(*row)
