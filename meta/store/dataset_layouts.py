"""Dataset layouts: sharding fields and promoted columns, which shape a dataset's segments."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, bindparam, delete, func, insert, select

from meta.store.engine import Transaction
from meta.store.tables import promoted_columns, sharding_fields


@dataclass(frozen=True, slots=True)
class ShardingField:
    """A field that readers filter by; the heaviest sorts first."""

    field_name: str
    weight: float


@dataclass(frozen=True, slots=True)
class PromotedColumnRow:
    """A typed column over an attribute; type and scope are numbers of the contract's enums."""

    name: str
    kql_type: int
    scope: int
    attribute: str


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
    )
    .where(promoted_columns.c.dataset_id == func.any(_IDS))
    .order_by(promoted_columns.c.dataset_id, promoted_columns.c.position)
)
_CLEAR_FIELDS = delete(sharding_fields).where(sharding_fields.c.dataset_id == bindparam("dataset"))
_CLEAR_COLUMNS = delete(promoted_columns).where(
    promoted_columns.c.dataset_id == bindparam("dataset")
)
_ADD_FIELD = insert(sharding_fields)
_ADD_COLUMN = insert(promoted_columns)


def read(tx: Transaction, dataset_ids: Iterable[UUID]) -> dict[UUID, Layout]:
    """The layout of every given dataset; an empty one where nothing is stored."""
    ids = list(dataset_ids)
    fields: dict[UUID, list[ShardingField]] = {}
    for dataset_id, *rest in tx.execute(_FIELDS, {"ids": ids}):
        fields.setdefault(dataset_id, []).append(ShardingField(*rest))
    columns: dict[UUID, list[PromotedColumnRow]] = {}
    for dataset_id, *rest in tx.execute(_COLUMNS, {"ids": ids}):
        columns.setdefault(dataset_id, []).append(PromotedColumnRow(*rest))
    return {i: Layout(tuple(fields.get(i, ())), tuple(columns.get(i, ()))) for i in ids}


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
    """Store the whole list; the caller holds the dataset's row."""
    tx.execute(_CLEAR_COLUMNS, {"dataset": dataset_id})
    rows = [
        {
            "dataset_id": dataset_id,
            "position": n,
            "name": c.name,
            "type": c.kql_type,
            "scope": c.scope,
            "attribute": c.attribute,
        }
        for n, c in enumerate(columns)
    ]
    if rows:
        tx.execute(_ADD_COLUMN, rows)
