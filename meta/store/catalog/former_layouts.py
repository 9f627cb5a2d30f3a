"""The columns that a dataset had at a version, and their former names.

Readers of an old version get the columns of its time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from sqlalchemy import text

from meta.errors import InvalidArgument
from meta.store.catalog import dataset_layouts
from meta.store.catalog.dataset_layouts import PromotedColumnRow
from meta.store.engine.pool import Transaction
from meta.store.versions.versions import Version

# If there are more, readers of the oldest versions get the columns of the first one that is kept.
LAYOUTS_MAX = 1_000
_EXPIRE = text("""
    DELETE FROM former_layouts f USING datasets d
    WHERE f.dataset_id = :dataset AND d.id = f.dataset_id
      AND (f.until_version <= d.deletion_horizon OR f.until_version <= (
        SELECT until_version FROM former_layouts WHERE dataset_id = :dataset
        ORDER BY until_version DESC OFFSET :most LIMIT 1))
""")
_ADD = text("""
    INSERT INTO former_layouts (dataset_id, until_version, field_ids, bound_ids)
    VALUES (:dataset, :version, cast(:field_ids AS integer[]), cast(:bound_ids AS integer[]))
""")
# A field that names no column may have the new name already.
_RENAME_FIELD = text("""
    UPDATE sharding_fields SET field_name = :new_name
    WHERE dataset_id = :dataset AND field_name = :name AND NOT EXISTS (
      SELECT FROM sharding_fields WHERE dataset_id = :dataset AND field_name = :new_name)
""")
_AT = text("""
    SELECT field_ids, bound_ids FROM former_layouts
    WHERE dataset_id = :dataset AND until_version > :version ORDER BY until_version LIMIT 1
""")


def keep(
    tx: Transaction, dataset_id: UUID, columns: Sequence[PromotedColumnRow], until: Version
) -> None:
    """Keep the columns that a dataset had before version `until`."""
    numbered = [column for column in columns if column.field_id is not None]
    values = {
        "dataset": dataset_id,
        "version": until,
        "field_ids": [column.field_id for column in numbered],
        "bound_ids": [column.field_id for column in numbered if column.is_bound],
    }
    tx.execute(_ADD, values)
    tx.execute(_EXPIRE, {"dataset": dataset_id, "most": LAYOUTS_MAX})


def at(tx: Transaction, dataset_id: UUID, version: int) -> tuple[PromotedColumnRow, ...]:
    """The columns of a dataset at a version, in their order.

    Columns that were promoted since then follow: they are computed from the attributes of any
    version. Columns of a schema that came later are not there.
    """
    now = dataset_layouts.read(tx, [dataset_id])[dataset_id].promoted_columns
    row = tx.execute(_AT, {"dataset": dataset_id, "version": version}).one_or_none()
    if row is None:
        return now
    keys = [(str(dataset_id), field_id) for field_id in row.field_ids]
    found_columns = dataset_layouts.find_columns(tx, keys)
    then = tuple(found_columns[key] for key in keys if key in found_columns)
    if row.bound_ids is not None:
        # A column that was bound since then was computed from the attributes at that time.
        then = tuple(replace(c, is_bound=c.field_id in row.bound_ids) for c in then)
    names = {column.name.casefold() for column in then}
    later = (c for c in now if not c.is_bound and c.name.casefold() not in names)
    return (*then, *later)


def rename_columns(tx: Transaction, dataset_id: UUID, new_names: Mapping[str, str]) -> None:
    """Number new names of columns of the schema, and sort by them; the caller holds the row.

    The columns that are stored afterwards by these names, over the same attributes, are the same.
    """
    if not new_names:
        return
    layout = dataset_layouts.read(tx, [dataset_id])[dataset_id]
    renamed = [c for c in layout.promoted_columns if c.is_of_schema and c.name in new_names]
    columns_by_new_names = [
        replace(c, name=new_names[c.name], column_id=c.file_id) for c in renamed
    ]
    ids: dict[str, set[int | None]] = {}
    for row in dataset_layouts.list_numbered(tx, dataset_id):
        ids.setdefault(row.name.casefold(), set()).add(row.file_id)
    for column in columns_by_new_names:
        if ids.get(column.name.casefold(), set()) - {column.column_id}:
            raise InvalidArgument(
                f"{column.name} was another column of a dataset", dataset_id=dataset_id
            )
    dataset_layouts.allocate_field_ids(tx, dataset_id, columns_by_new_names)
    sharding = {field.field_name for field in layout.sharding_fields}
    for name in (column.name for column in renamed if column.name in sharding):
        values = {"name": name, "new_name": new_names[name]}
        tx.execute(_RENAME_FIELD, {"dataset": dataset_id, **values})
