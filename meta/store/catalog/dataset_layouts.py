"""Dataset layouts: sharding fields and promoted columns, which shape a dataset's segments.

A promoted column keeps its Parquet field id. It belongs to all four parts of its definition:
the same column promoted again gets its old id, a changed one a new id. Ids are even; the odd one
behind is for the remainder that a datetime is stored with. A renamed column has a number for its
new name too, and keeps its id as `column_id`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    Integer,
    Uuid,
    and_,
    bindparam,
    delete,
    false,
    func,
    insert,
    select,
    text,
)
from sqlalchemy.dialects import postgresql

from meta.store.engine.pool import Transaction
from meta.store.tables.catalog import (
    datasets,
    promoted_columns,
    promoted_field_ids,
    sharding_fields,
)

FIELD_ID_MIN = 1_000
# ATTRIBUTE_SCOPE_RECEIPT and _REQUEST of the contract: columns that follow from how a record was
# received.
RECEIPT_SCOPE, REQUEST_SCOPE = RECEIPT_SCOPES = (100, 101)
_FIELD_ID_STEP = 2
# Values of datasets.schema_violations from here on keep records that violate the schema from being
# rows.
ENFORCED_MIN = 2


@dataclass(frozen=True, slots=True)
class ShardingField:
    """A field that readers filter by; the heaviest sorts first."""

    field_name: str
    weight: float


@dataclass(frozen=True, slots=True)
class PromotedColumnRow:
    """A typed column over an attribute; type and scope are numbers of the contract's enums.

    `field_id` is None before it is stored, and if a server of 0.1.0 stored the column. It is the
    number of a new name if `column_id`, the field id in files, is not None.
    `is_of_schema` says that it is a column of the schema that its dataset is bound to, `is_bound`
    that it is one or was, or is one of receipt; it stays null in segments that lack it.
    `is_enforced` says that records that do not fit it are not rows.
    """

    name: str
    kql_type: int
    scope: int
    attribute: str
    field_id: int | None = field(default=None, compare=False)
    is_bound: bool = field(default=False, compare=False)
    is_of_schema: bool = field(default=False, compare=False)
    is_enforced: bool = field(default=False, compare=False)
    column_id: int | None = field(default=None, compare=False)

    @property
    def file_id(self) -> int | None:
        """The field id in files, by every name that the column had."""
        return self.column_id if self.column_id is not None else self.field_id

    @property
    def is_of_receipt(self) -> bool:
        """Whether the column follows from how a record was received, and reads no attribute."""
        return self.scope in RECEIPT_SCOPES

    @property
    def definition(self) -> dict[str, object]:
        """The columns of the tables that tell promoted columns apart."""
        return {
            "name": self.name,
            "type": self.kql_type,
            "scope": self.scope,
            "attribute": self.attribute,
        }


@dataclass(frozen=True, slots=True)
class Layout:
    """Both lists of one dataset, in stored order."""

    sharding_fields: tuple[ShardingField, ...] = ()
    promoted_columns: tuple[PromotedColumnRow, ...] = ()


_IDS = bindparam("ids", type_=ARRAY(Uuid))
_FIELDS = (
    select(sharding_fields.c.dataset_id, sharding_fields.c.field_name, sharding_fields.c.weight)
    .where(sharding_fields.c.dataset_id == func.any(_IDS))
    .order_by(sharding_fields.c.dataset_id, sharding_fields.c.position)
)
_COLUMNS = (
    select(
        promoted_columns.c.dataset_id,
        promoted_columns.c.name,
        promoted_columns.c.type,
        promoted_columns.c.scope,
        promoted_columns.c.attribute,
        promoted_field_ids.c.field_id,
        func.coalesce(promoted_field_ids.c.is_bound, false()),
        promoted_columns.c.is_of_schema,
        and_(promoted_columns.c.is_of_schema, datasets.c.schema_violations >= ENFORCED_MIN),
        promoted_field_ids.c.column_id,
    )
    .join(datasets, datasets.c.id == promoted_columns.c.dataset_id)
    .outerjoin(
        promoted_field_ids,
        and_(
            *(
                promoted_columns.c[name] == promoted_field_ids.c[name]
                for name in ("dataset_id", "name", "type", "scope", "attribute")
            )
        ),
    )
    .where(promoted_columns.c.dataset_id == func.any(_IDS))
    .order_by(promoted_columns.c.dataset_id, promoted_columns.c.position)
)
_COLUMNS_BY_ID = text("""
    SELECT c.dataset_id::text, c.field_id, c.name, c.type, c.scope, c.attribute, c.is_bound,
           c.column_id
    FROM unnest(cast(:dataset_ids AS uuid[]), cast(:field_ids AS integer[]))
             w (dataset_id, field_id)
         JOIN promoted_field_ids c USING (dataset_id, field_id)
""").bindparams(
    bindparam("dataset_ids", type_=ARRAY(Uuid)), bindparam("field_ids", type_=ARRAY(Integer))
)
_CLEAR_FIELDS = delete(sharding_fields).where(sharding_fields.c.dataset_id == bindparam("dataset"))
_CLEAR_COLUMNS = delete(promoted_columns).where(
    promoted_columns.c.dataset_id == bindparam("dataset")
)
_ADD_FIELD = insert(sharding_fields)
_ADD_COLUMN = insert(promoted_columns)
_BIND = text("""
    UPDATE promoted_field_ids f SET is_bound = true FROM promoted_columns c
    WHERE c.dataset_id = :dataset AND (c.is_of_schema OR c.scope = ANY (:receipt))
      AND NOT f.is_bound AND (f.dataset_id, f.name, f.type, f.scope, f.attribute)
        = (c.dataset_id, c.name, c.type, c.scope, c.attribute)
""")
_EXPECT = text("""
    UPDATE datasets SET bound_field_ids = (
      SELECT array_agg(field_id ORDER BY field_id) FROM promoted_field_ids f
      JOIN promoted_columns c USING (dataset_id, name, type, scope, attribute)
      WHERE dataset_id = :dataset AND f.is_bound)
    WHERE id = :dataset
""")
_EVER = (
    select(
        *promoted_field_ids.c["name", "type", "scope", "attribute", "field_id", "is_bound"],
        false(),
        false(),
        promoted_field_ids.c.column_id,
    )
    .where(promoted_field_ids.c.dataset_id == bindparam("dataset"))
    .order_by(promoted_field_ids.c.field_id)
)
_ADD_FIELD_ID = postgresql.insert(promoted_field_ids).on_conflict_do_nothing()


def read(tx: Transaction, dataset_ids: Iterable[UUID]) -> dict[UUID, Layout]:
    """The layout of every given dataset; an empty one if nothing is stored."""
    ids = list(dataset_ids)
    fields: dict[UUID, list[ShardingField]] = {}
    for dataset_id, *values in tx.execute(_FIELDS, {"ids": ids}):
        fields.setdefault(dataset_id, []).append(ShardingField(*values))
    columns: dict[UUID, list[PromotedColumnRow]] = {}
    for dataset_id, *values in tx.execute(_COLUMNS, {"ids": ids}):
        columns.setdefault(dataset_id, []).append(PromotedColumnRow(*values))
    return {i: Layout(tuple(fields.get(i, ())), tuple(columns.get(i, ()))) for i in ids}


def find_columns(
    tx: Transaction, keys: Iterable[tuple[str, int]]
) -> dict[tuple[str, int], PromotedColumnRow]:
    """The columns, also former ones, of dataset ids and field ids; unknown ones are missing."""
    pairs = list(keys)
    if not pairs:
        return {}
    values = {
        "dataset_ids": [UUID(dataset_id) for dataset_id, _ in pairs],
        "field_ids": [field_id for _, field_id in pairs],
    }
    return {
        (row.dataset_id, row.field_id): PromotedColumnRow(
            row.name,
            row.type,
            row.scope,
            row.attribute,
            row.field_id,
            row.is_bound,
            column_id=row.column_id,
        )
        for row in tx.execute(_COLUMNS_BY_ID, values)
    }


def replace_sharding_fields(
    tx: Transaction, dataset_id: UUID, fields: Sequence[ShardingField]
) -> None:
    """Store the whole list; the caller holds the dataset's row."""
    tx.execute(_CLEAR_FIELDS, {"dataset": dataset_id})
    rows = [
        {"dataset_id": dataset_id, "position": n, "field_name": f.field_name, "weight": f.weight}
        for n, f in enumerate(fields)
    ]
    if rows:
        tx.execute(_ADD_FIELD, rows)


def replace_promoted_columns(
    tx: Transaction, dataset_id: UUID, columns: Sequence[PromotedColumnRow]
) -> None:
    """Store the whole list; the caller holds the dataset's row.

    Columns of a schema and of receipt stay bound, and every later segment must have them.
    """
    tx.execute(_CLEAR_COLUMNS, {"dataset": dataset_id})
    rows = [
        {
            "dataset_id": dataset_id,
            "position": n,
            "is_of_schema": column.is_of_schema,
            **column.definition,
        }
        for n, column in enumerate(columns)
    ]
    if rows:
        tx.execute(_ADD_COLUMN, rows)
        allocate_field_ids(tx, dataset_id, columns)
    tx.execute(_BIND, {"dataset": dataset_id, "receipt": list(RECEIPT_SCOPES)})
    tx.execute(_EXPECT, {"dataset": dataset_id})


def restore_field_ids(
    tx: Transaction, dataset_id: UUID, columns: Iterable[PromotedColumnRow]
) -> None:
    """Store the ids that segments carry; of two columns that claim one, the first has it."""
    for column in columns:
        if column.field_id is not None:
            values = {
                "dataset_id": dataset_id,
                "field_id": column.field_id,
                "is_bound": column.is_bound,
                "column_id": column.column_id,
            }
            tx.execute(_ADD_FIELD_ID, values | column.definition)


def allocate_field_ids(
    tx: Transaction, dataset_id: UUID, columns: Sequence[PromotedColumnRow]
) -> None:
    """Number the columns that never were the dataset's; the caller holds the dataset's row."""
    numbered = list_numbered(tx, dataset_id)
    last = numbered[-1].field_id if numbered else None
    next_id = FIELD_ID_MIN if last is None else last - last % _FIELD_ID_STEP + _FIELD_ID_STEP
    names = set(numbered)
    new = [column for column in columns if column not in names]
    rows = [
        {
            "dataset_id": dataset_id,
            "field_id": next_id + _FIELD_ID_STEP * n,
            "column_id": column.column_id,
            **column.definition,
        }
        for n, column in enumerate(new)
    ]
    if rows:
        tx.execute(_ADD_FIELD_ID, rows)


def list_numbered(tx: Transaction, dataset_id: UUID) -> list[PromotedColumnRow]:
    """Every promoted column that a dataset has or had, by id."""
    rows: Iterable[Sequence[Any]] = tx.execute(_EVER, {"dataset": dataset_id})
    return [PromotedColumnRow(*row) for row in rows]
