"""Names of datasets: a dataset is renamed from a version on, and older ones show its former name.

`dataset_visibility.name` is null for the name of today, so a dataset that was never renamed has its
name in one place. A group's names of before are in `group_visibility`.
"""

from uuid import UUID

from sqlalchemy import bindparam, insert, select, text, update

from meta.errors import NameTaken, NotFound
from meta.store.access import audit
from meta.store.catalog import datasets, groups, shown_names
from meta.store.catalog.datasets import Dataset
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.tables.catalog import dataset_visibility
from meta.store.tables.catalog import datasets as datasets_table
from meta.store.versions import versions
from segments.dataset_names import DatasetName

_OWN = select(datasets_table.c.name, datasets_table.c.group_id).where(
    datasets_table.c.id == bindparam("dataset")
)
_RENAME = (
    update(datasets_table)
    .where(datasets_table.c.id == bindparam("dataset"))
    .values(name=bindparam("new_name"), group_id=bindparam("new_group"))
)
# Former intervals without a name had the one of until now: those of before a deletion.
_KEEP = text("""
    UPDATE dataset_visibility
    SET name = coalesce(name, :old_name), to_version = coalesce(to_version, :version),
        group_id = CASE WHEN name IS NULL THEN cast(:old_group AS uuid) ELSE group_id END
    WHERE dataset_key = :key AND (name IS NULL OR to_version IS NULL)
""")
_SHOW = insert(dataset_visibility)
_KEYS = shown_names.keys("ARRAY[cast(:name AS text)]")
_AT = scope.statement(f"""
    SELECT d.id FROM datasets d JOIN dataset_visibility v ON v.dataset_key = d.key
    WHERE d.key = ANY(ARRAY({_KEYS})) AND {shown_names.at("d", "v", ":version")} = :name
      AND v.from_version <= :version AND (v.to_version IS NULL OR v.to_version > :version)
""")  # noqa: S608
# If several had the name, the last one counts.
_RENAMED = scope.statement(f"""
    SELECT d.id, {shown_names.of("d")} AS name
    FROM datasets d JOIN dataset_visibility v ON v.dataset_key = d.key
    WHERE d.key = ANY(ARRAY({_KEYS})) AND d.deleted_at IS NULL
    ORDER BY v.name = substr(:name, strpos(:name, '/') + 1) DESC NULLS LAST,
             v.to_version DESC NULLS LAST LIMIT 1
""")  # noqa: S608


def rename(tx: Transaction, dataset_id: UUID, new_name: DatasetName) -> Dataset:
    """Rename or move a live dataset from the next version on; again, it changes nothing.

    Raises NotFound, also for the group, NameTaken.
    """
    datasets.lock_columns(tx, [dataset_id])
    dataset = datasets.get(tx, dataset_id)
    if dataset.name == str(new_name):
        return dataset
    group_id = groups.keep(tx, new_name.group)
    if datasets.is_taken(tx, str(new_name)):
        raise NameTaken("another dataset has this name", dataset_name=new_name)
    old = tx.execute(_OWN, {"dataset": dataset_id}).one()
    values = {"dataset": dataset_id, "new_name": new_name.base_name, "new_group": group_id}
    tx.execute(_RENAME, values)
    version = versions.allocate(tx)
    former = {"key": dataset.key, "old_name": old.name, "old_group": old.group_id}
    tx.execute(_KEEP, former | {"version": version})
    tx.execute(_SHOW, {"dataset_key": dataset.key, "from_version": version})
    # Nurseries receive names.
    datasets.stamp(tx, dataset_id, version)
    audit.note(tx, "RenameDataset", dataset_id, audit.states(dataset.name, str(new_name)))
    return datasets.get(tx, dataset_id)


def find_at(tx: Transaction, name: str, version: int) -> Dataset | None:
    """The live dataset that had this name at a version."""
    row = tx.execute(_AT, {"name": name, "version": version}).one_or_none()
    return None if row is None else datasets.find(tx, row.id)


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
