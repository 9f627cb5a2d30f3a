"""Deletion of what a deleted tenant has, once its grace is over: a little in each transaction.

Its tokens are revoked first, so that nothing more is sent. A dataset waits while a lock is on it or
streams hold records for it; it has no grace of its own, since that of the tenant is over.
"""

from uuid import UUID

from sqlalchemy import TextClause, Uuid, bindparam, text

from meta.store.access import access_tokens
from meta.store.catalog import datasets, groups
from meta.store.catalog.named_entries import PROJECTIONS, VIEWS
from meta.store.catalog.resources import ResourceKind
from meta.store.catalog.schemas import SCHEMAS
from meta.store.deletion import dataset_deletion
from meta.store.engine.pool import Transaction
from meta.store.locks import held_datasets
from meta.store.streams import routing, tokens
from meta.store.versions import versions
from meta.store.versions.clock import ago

ROWS_AT_ONCE = 100
# Kinds of entries in the order of their removal: views and projections refer to schemas.
ENTRIES = (ResourceKind.VIEW, ResourceKind.PROJECTION, ResourceKind.SCHEMA, ResourceKind.GROUP)

_END_GRACE = text(f"""
    UPDATE tenants SET purged_at = clock_timestamp()
    WHERE deleted_at <= {ago(":grace")} AND purged_at IS NULL
""")  # noqa: S608


def _page(table: str, condition: str) -> TextClause:
    return text(f"""
        SELECT e.id FROM tenants t JOIN {table} e ON e.tenant_key = t.key
        WHERE t.purged_at IS NOT NULL AND {condition} AND e.id > :after ORDER BY e.id LIMIT :most
    """).bindparams(bindparam("after", type_=Uuid))  # noqa: S608


_DATASETS = _page("datasets", "e.deleted_at IS NULL")
_ACCESS_TOKENS = _page("access_tokens", "e.revoked_at IS NULL")
_INGEST_TOKENS = _page("ingest_tokens", "e.revoked_at IS NULL")
_ENTRIES = {
    ResourceKind.VIEW: _page("views", "true"),
    ResourceKind.PROJECTION: _page("projections", "true"),
    ResourceKind.SCHEMA: _page("schemas", "true"),
    ResourceKind.GROUP: _page("groups", "e.deleted_at IS NULL"),
}


def end_grace(tx: Transaction, grace_secs: float) -> int:
    """End the grace of tenants that were deleted so long ago; returns how many."""
    return tx.execute(_END_GRACE, {"grace": grace_secs}).rowcount


def access_token_ids(tx: Transaction, after: UUID) -> list[UUID]:
    """Some access tokens of purged tenants that are not revoked."""
    return _read(tx, _ACCESS_TOKENS, after)


def ingest_token_ids(tx: Transaction, after: UUID) -> list[UUID]:
    """Some ingest tokens of purged tenants that are not revoked."""
    return _read(tx, _INGEST_TOKENS, after)


def dataset_ids(tx: Transaction, after: UUID) -> list[UUID]:
    """Some live datasets of purged tenants."""
    return _read(tx, _DATASETS, after)


def entry_ids(tx: Transaction, kind: ResourceKind, after: UUID) -> list[UUID]:
    """Some views, projections, schemas or groups of purged tenants."""
    return _read(tx, _ENTRIES[kind], after)


def revoke_access_token(tx: Transaction, token_id: UUID) -> None:
    """Revoke an access token, which is noted in the bucket after the commit."""
    access_tokens.revoke_among(tx, [token_id])


def revoke_ingest_token(tx: Transaction, token_id: UUID) -> None:
    """Revoke an ingest token, which is noted in the bucket after the commit."""
    token = tokens.find(tx, token_id, "FOR UPDATE")
    if token is not None and token.revoked_at is None:
        tokens.revoke(tx, token_id)
        routing.note_revoked(tx, token_id)
        tokens.stamp(tx, token_id, versions.allocate(tx))


def delete_dataset(tx: Transaction, dataset_id: UUID) -> None:
    """Delete a dataset, as DeleteDataset does; one that is held waits. Raises StillReferenced."""
    datasets.lock_columns(tx, [dataset_id])
    dataset = datasets.find(tx, dataset_id)
    if dataset is not None and not held_datasets.among(tx, [dataset.key]):
        dataset_deletion.delete(tx, dataset_id)


def delete_entry(tx: Transaction, kind: ResourceKind, entry_id: UUID) -> None:
    """Delete a view, projection, schema or group. Raises StillReferenced."""
    if kind is ResourceKind.GROUP:
        groups.delete(tx, entry_id)
    elif kind is ResourceKind.SCHEMA:
        SCHEMAS.remove(tx, entry_id)
    else:
        (VIEWS if kind is ResourceKind.VIEW else PROJECTIONS).remove(tx, entry_id)


def _read(tx: Transaction, page: TextClause, after: UUID) -> list[UUID]:
    return list(tx.execute(page, {"after": after, "most": ROWS_AT_ONCE}).scalars())
