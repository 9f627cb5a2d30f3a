"""Moves of datasets to other tenants: from a version on another tenant sees all of a dataset.

Tenancy has no versions: the former tenant then sees none of it, and older versions show it under
its new name. Tokens of the former tenant send nothing there any more, and nothing of that tenant
that refers to a dataset may be left: a link of a view, or the schema that it is bound to.
"""

from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from sqlalchemy import Uuid, bindparam, text

from meta.errors import (
    DatasetProtected,
    InvalidArgument,
    NameTaken,
    NotFound,
    StillReferenced,
)
from meta.store.access import audit, tenants
from meta.store.access.tenants import Tenant
from meta.store.catalog import bindings, datasets, groups, shown_names
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.streams import routing, tokens
from meta.store.streams.tokens import TokenRouting
from meta.store.tenancy import schema_copies
from meta.store.versions import versions

TenantIdentifier: TypeAlias = UUID | str
# Tokens whose routes one transaction takes away.
TOKENS_AT_ONCE = 100
_SHOWN_BLOCKERS = 10
_DATASET = bindparam("dataset", type_=Uuid)
_NAMES, _TARGET = "ARRAY[cast(:name AS text)]", "cast(:target AS integer)"


@dataclass(frozen=True, slots=True)
class TenantMove:
    """A move of a dataset; "" = it keeps its name, without its group."""

    dataset_id: UUID
    tenant: TenantIdentifier
    new_name: str = ""
    copies_schema: bool = False


@dataclass(frozen=True, slots=True)
class RoutedToken:
    """A token that sends something to a dataset."""

    id: UUID
    name: str


@dataclass(frozen=True, slots=True)
class MovePlan:
    """Effects of a move: `tokens` are some of those whose routes to the dataset are taken away.

    `schema_name` is that of the schema that is copied, "" = none is. A move `is_done` if the
    tenant has the dataset.
    """

    former: Tenant
    tenant: Tenant
    new_name: str
    tokens: tuple[RoutedToken, ...] = ()
    num_tokens: int = 0
    schema_id: UUID | None = None
    schema_name: str = ""
    is_done: bool = False


_READ = scope.statement(f"""
    SELECT d.key, d.name, d.is_default, t.id AS tenant_id FROM datasets d
    JOIN tenants t ON t.key = d.tenant_key
    WHERE d.id = :dataset AND d.deleted_at IS NULL AND {scope.reaches("d")}
""").bindparams(_DATASET)  # noqa: S608
_BLOCKERS = text("""
    SELECT 'view ' || v.name FROM view_dataset_projections l JOIN views v ON v.id = l.view_id
    WHERE l.dataset_id = :dataset GROUP BY v.name ORDER BY v.name LIMIT :most
""").bindparams(_DATASET)
_SCHEMA = text("SELECT name FROM schemas WHERE id = :schema").bindparams(
    bindparam("schema", type_=Uuid)
)
_ROUTES = """
    FROM ingest_tokens WHERE revoked_at IS NULL
      AND :dataset IN (logs_dataset_id, traces_dataset_id, metrics_dataset_id)
"""
_TOKENS = text(f"SELECT id, name {_ROUTES} ORDER BY id LIMIT :most").bindparams(_DATASET)
_NUM_TOKENS = text(f"SELECT count(*) {_ROUTES}").bindparams(_DATASET)
# One that had the name at a version that can be read counts too: a name means one dataset there.
_NAMED = scope.statement(f"""
    SELECT d.id FROM datasets d LEFT JOIN dataset_visibility v ON v.dataset_key = d.key
    WHERE d.key = ANY(ARRAY({shown_names.keys(_NAMES, _TARGET)}))
      AND d.id <> :dataset AND (d.deleted_at IS NULL OR {groups.IS_READABLE})
    LIMIT 1
""").bindparams(_DATASET)  # noqa: S608
_MOVE = text("""
    UPDATE datasets SET tenant_key = :target, name = :name, group_id = NULL,
      moved_version = :version WHERE id = :dataset RETURNING key
""").bindparams(_DATASET)
_FORGET_NAMES = text("""
    UPDATE dataset_visibility SET name = NULL, group_id = NULL
    WHERE dataset_key = :key AND name IS NOT NULL
""")
_REBIND = text(
    "UPDATE schema_bindings SET schema_id = :schema WHERE dataset_id = :dataset"
).bindparams(_DATASET, bindparam("schema", type_=Uuid))
# They are of the former tenant, whose subjects the new one does not learn.
_FORGET_AUTHORS = text("DELETE FROM catalog_authors WHERE entry_id = :dataset").bindparams(_DATASET)


def plan(tx: Transaction, move: TenantMove) -> MovePlan:
    """Plan a move. Raises NotFound, and the refusals below.

    DatasetProtected for the default dataset, StillReferenced for what the former tenant has,
    NameTaken for the dataset's name or that of a copied schema, InvalidArgument for its name.
    """
    dataset = tx.execute(_READ, {"dataset": move.dataset_id}).one_or_none()
    if dataset is None:
        raise NotFound("there is no such dataset", dataset_id=move.dataset_id)
    target = tenants.get(tx, move.tenant)
    if target.deleted_at is not None:
        raise NotFound("the tenant is deleted", tenant=move.tenant)
    former, name = tenants.get_any(tx, dataset.tenant_id), move.new_name or dataset.name
    if former.key == target.key:
        return MovePlan(former, target, dataset.name, is_done=True)
    if dataset.is_default:
        raise DatasetProtected("the default dataset stays", dataset_id=move.dataset_id)
    if "/" in name:
        raise InvalidArgument("the name has a slash: give the dataset another", field="new_name")
    values = {"dataset": move.dataset_id}
    if is_named(tx, move.dataset_id, name, target.key):
        raise NameTaken(
            "a dataset of the tenant has or had this name: give another new_name", dataset_name=name
        )
    schema_id, schema_name = _check_references(tx, move)
    number = tx.execute(_NUM_TOKENS, values).scalar_one()
    routed = routed_tokens(tx, move.dataset_id)
    return MovePlan(former, target, name, routed, number, schema_id, schema_name)


def routed_tokens(tx: Transaction, dataset_id: UUID) -> tuple[RoutedToken, ...]:
    """Some of the tokens that send something to a dataset."""
    values = {"dataset": dataset_id, "most": TOKENS_AT_ONCE}
    return tuple(RoutedToken(*row) for row in tx.execute(_TOKENS, values))


def is_named(tx: Transaction, dataset_id: UUID, name: str, target_key: int) -> bool:
    """Return true if a dataset of a tenant has or had a name that another one would get."""
    values = {"dataset": dataset_id, "name": name, "target": target_key}
    return tx.execute(_NAMED, values).one_or_none() is not None


def step(tx: Transaction, move: TenantMove) -> MovePlan | None:
    """Take some routes away and, once none is left, move the dataset; None = there are more.

    Raises what `plan` does.
    """
    datasets.lock_columns(tx, [move.dataset_id])
    planned = plan(tx, move)
    if planned.is_done:
        return planned
    take_routes(tx, move.dataset_id, planned.tokens)
    if planned.num_tokens > len(planned.tokens):
        return None
    apply(tx, move.dataset_id, planned)
    return planned


def take_routes(tx: Transaction, dataset_id: UUID, routed: tuple[RoutedToken, ...]) -> None:
    """Let tokens send nothing to a dataset any more; their streams follow in a job of meta."""
    for routed_token in routed:
        token = tokens.find(tx, routed_token.id, "FOR UPDATE")
        if token is None or token.revoked_at is not None:
            continue
        former = token.routing
        kept = (
            None if d == dataset_id else d for d in (former.logs, former.traces, former.metrics)
        )
        reduced = TokenRouting(*kept)
        tokens.route(tx, token.id, reduced)
        routing.begin_change(tx, token.id)
        routing.leave(tx, token.id)
        tokens.stamp(tx, token.id, versions.allocate(tx))
        audit.note(tx, "UpdateIngestTokenRouting", token.id, audit.states(former, reduced))


def apply(tx: Transaction, dataset_id: UUID, planned: MovePlan) -> None:
    """Give a locked dataset to another tenant; nothing of the former one refers to it."""
    if planned.schema_id is not None:
        copied_id = schema_copies.copy(
            tx, planned.schema_id, planned.tenant.key, planned.schema_name
        )
        tx.execute(_REBIND, {"dataset": dataset_id, "schema": copied_id})
    version = versions.allocate(tx)
    values = {"dataset": dataset_id, "target": planned.tenant.key, "name": planned.new_name}
    key = tx.execute(_MOVE, values | {"version": version}).scalar_one()
    tx.execute(_FORGET_NAMES, {"key": key})
    datasets.stamp(tx, dataset_id, version)
    tx.execute(_FORGET_AUTHORS, values)
    # As text: a record of operators, which names both tenants.
    tenants_of_move = audit.states(planned.former.name, planned.tenant.name)
    audit.note(tx, "MoveDatasetToTenant", str(dataset_id), tenants_of_move)


def _check_references(tx: Transaction, move: TenantMove) -> tuple[UUID | None, str]:
    """The id and name of the schema that is copied. Raises StillReferenced."""
    values = {"dataset": move.dataset_id, "most": _SHOWN_BLOCKERS}
    blockers = list(tx.execute(_BLOCKERS, values).scalars())
    binding = bindings.read(tx, move.dataset_id)
    schema_id = None if binding is None else binding.schema_id
    name = "" if binding is None else tx.execute(_SCHEMA, {"schema": schema_id}).scalar_one()
    if name and not move.copies_schema:
        blockers.insert(0, f"schema {name}")
    if blockers:
        raise StillReferenced(
            "entries of its tenant refer to the dataset: unlink its views, and copy or unbind its"
            " schema",
            dataset_id=move.dataset_id,
            blockers=", ".join(blockers),
        )
    return schema_id, name
