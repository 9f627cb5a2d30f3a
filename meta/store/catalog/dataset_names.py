"""Names of datasets: a dataset is renamed from a version on, and older ones show its former name.

`dataset_visibility.name` is null for the name of today, so a dataset that was never renamed has its
name in one place.
"""

from uuid import UUID

from sqlalchemy import bindparam, insert, text, update

from meta.errors import NameTaken, NotFound
from meta.store.access import audit
from meta.store.catalog import datasets
from meta.store.catalog.datasets import Dataset
from meta.store.engine.pool import Transaction
from meta.store.tables.catalog import dataset_visibility
from meta.store.tables.catalog import datasets as datasets_table
from meta.store.versions import versions

_RENAME = (
    update(datasets_table)
    .where(datasets_table.c.id == bindparam("dataset"))
    .values(name=bindparam("new_name"))
)
# Former intervals without a name had the one of until now: those of before a deletion.
_KEEP = text("""
    UPDATE dataset_visibility
    SET name = coalesce(name, :old_name), to_version = coalesce(to_version, :version)
    WHERE dataset_key = :key AND (name IS NULL OR to_version IS NULL)
""")
_SHOW = insert(dataset_visibility)
_AT = text("""
    SELECT d.id FROM datasets d JOIN dataset_visibility v ON v.dataset_key = d.key
    WHERE v.name = :name AND v.from_version <= :version AND v.to_version > :version
""")
_RENAMED = text("""
    SELECT d.id, d.name FROM datasets d JOIN dataset_visibility v ON v.dataset_key = d.key
    WHERE v.name = :name AND d.deleted_at IS NULL ORDER BY v.to_version DESC LIMIT 1
""")


def rename(tx: Transaction, dataset_id: UUID, new_name: str) -> Dataset:
    """Rename a live dataset from the next version on; again, it changes nothing.

    Raises NotFound, NameTaken.
    """
    datasets.lock_columns(tx, [dataset_id])
    dataset = datasets.get(tx, dataset_id)
    if dataset.name == new_name:
        return dataset
    if datasets.is_taken(tx, new_name):
        raise NameTaken("another dataset has this name", dataset_name=new_name)
    tx.execute(_RENAME, {"dataset": dataset_id, "new_name": new_name})
    version = versions.allocate(tx)
    values = {"key": dataset.key, "old_name": dataset.name, "version": version}
    tx.execute(_KEEP, values)
    tx.execute(_SHOW, {"dataset_key": dataset.key, "from_version": version})
    # Nurseries receive names.
    datasets.stamp(tx, dataset_id, version)
    audit.note(tx, "RenameDataset", dataset_id, audit.states(dataset.name, new_name))
    return datasets.get(tx, dataset_id)


def find_at(tx: Transaction, name: str, version: int) -> Dataset | None:
    """The live dataset that had this name at a version."""
    row = tx.execute(_AT, {"name": name, "version": version}).one_or_none()
    if row is not None:
        return datasets.find(tx, row.id)
    dataset = datasets.find_by_name(tx, name)
    if dataset is None or not datasets.is_visible_at(tx, dataset.key, version):
        return None
    return dataset


def missing(tx: Transaction, name: str) -> NotFound:
    """The refusal of a name that no dataset has; it says the new name of one that had it."""
    row = tx.execute(_RENAMED, {"name": name}).one_or_none()
    if row is None or datasets.find(tx, row.id) is None:
        return NotFound("there is no such dataset", dataset_name=name)
    return NotFound(
        f"dataset {name!r} is now named {row.name!r}", dataset_name=name, renamed_to=row.name
    )


def missing_at(tx: Transaction, name: str, nanos: int) -> NotFound:
    """The refusal of a name that no dataset had at a time."""
    if datasets.find_by_name(tx, name) is None:
        return missing(tx, name)
    return NotFound(
        "the dataset did not exist yet at this time, or had another name",
        dataset_name=name,
        as_of_nanos=nanos,
    )
