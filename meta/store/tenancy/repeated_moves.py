"""Moves of datasets to other tenants that a restored database has forgotten.

The former tenant must not reach the dataset any more. So its links and routes are taken away and
its schema is copied, where a move would have been refused.
"""

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, bindparam, text

from meta import access
from meta.store.access import tenants
from meta.store.catalog import bindings, dataset_names, datasets, groups, links
from meta.store.engine.pool import Transaction
from meta.store.recovery import name_numbers, returned_tenants
from meta.store.tenancy import dataset_moves
from meta.store.tenancy.dataset_moves import MovePlan
from segments.dataset_names import DatasetName
from segments.ids import new_uuid7
from segments.noted_names import NotedName

_DATASET = bindparam("dataset", type_=Uuid)
_NUMBERS = text(
    "SELECT id, name_number FROM datasets WHERE id = ANY(:ids) AND purged_at IS NULL"
).bindparams(bindparam("ids", type_=ARRAY(Uuid)))
_TENANTS = text("""
    SELECT d.tenant_key, d.is_default, d.name_number, f.id AS former_id, t.id AS target_id
    FROM datasets d JOIN tenants f ON f.key = d.tenant_key, tenants t
    WHERE d.id = :dataset AND t.key = :target
""").bindparams(_DATASET)
_HAS_SCHEMA = text("SELECT FROM schemas WHERE tenant_key = :target AND name = :name")
_SCHEMA = text("SELECT name FROM schemas WHERE id = :schema").bindparams(
    bindparam("schema", type_=Uuid)
)


def numbers(tx: Transaction, dataset_ids: list[UUID]) -> dict[UUID, int]:
    """The numbers of the names of some datasets, by id, as far as they are known."""
    return {row.id: row.name_number for row in tx.execute(_NUMBERS, {"ids": dataset_ids})}


def repeat(tx: Transaction, later: Mapping[UUID, tuple[int, NotedName]]) -> int:
    """Give datasets to the tenants that had them later; returns how many have another one."""
    return sum(_repeat(tx, dataset_id, *name) for dataset_id, name in later.items())


def _repeat(tx: Transaction, dataset_id: UUID, number: int, noted: NotedName) -> bool:
    datasets.lock_columns(tx, [dataset_id])
    target = returned_tenants.find_key(tx, noted.tenant_id)
    target = returned_tenants.awaited_key(tx) if target is None else target
    row = tx.execute(_TENANTS, {"dataset": dataset_id, "target": target}).one()
    # Another server may have changed it since the object was read.
    if row.tenant_key == target or row.is_default or number <= row.name_number:
        return False
    links.remove_of_dataset(tx, dataset_id)
    while routed := dataset_moves.routed_tokens(tx, dataset_id):
        dataset_moves.take_routes(tx, dataset_id, routed)
    binding = bindings.read(tx, dataset_id)
    schema_id = None if binding is None else binding.schema_id
    name = noted.name if "/" not in noted.name else f"returned-{dataset_id}"
    if dataset_moves.is_named(tx, dataset_id, name, target):
        name = f"returned-{dataset_id}"
    planned = MovePlan(
        tenants.get_any(tx, row.former_id),
        tenants.get_any(tx, row.target_id),
        name,
        schema_id=schema_id,
        schema_name=_schema_name(tx, schema_id, target),
    )
    dataset_moves.apply(tx, dataset_id, planned)
    is_grouped = _is_grouped(tx, dataset_id, noted, target)
    is_noted = name == noted.name and (is_grouped or not noted.group_id)
    name_numbers.settle(tx, dataset_id, number, is_noted=is_noted)
    return True


def _schema_name(tx: Transaction, schema_id: UUID | None, target: int) -> str:
    """The name of a copy of the schema; "" = there is none."""
    if schema_id is None:
        return ""
    name = str(tx.execute(_SCHEMA, {"schema": schema_id}).scalar_one())
    is_taken = tx.execute(_HAS_SCHEMA, {"target": target, "name": name}).one_or_none() is not None
    return f"returned-{new_uuid7()}" if is_taken else name


def _is_grouped(tx: Transaction, dataset_id: UUID, noted: NotedName, target: int) -> bool:
    """Bring a live dataset into its group of then, if the group is known; return whether it was."""
    if not noted.group_id:
        return False
    with access.as_operator_in(target):
        group = groups.find(tx, UUID(noted.group_id))
        dataset = datasets.find(tx, dataset_id)
        if group is None or dataset is None:
            return False
        new_name = DatasetName(group.name, dataset.name)
        if datasets.is_taken(tx, str(new_name)):
            return False
        dataset_names.rename(tx, dataset_id, new_name)
        return True
