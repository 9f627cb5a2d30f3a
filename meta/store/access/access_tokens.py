"""Access tokens of services and people: digests, subjects, roles, expiry."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    Boolean,
    ColumnElement,
    Integer,
    LargeBinary,
    Select,
    bindparam,
    func,
    insert,
    literal_column,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.sql import and_

from meta import access
from meta.access import CallerTenant
from meta.errors import NotFound, QuotaExceeded
from meta.roles import TENANT_ROLES
from meta.store.access import catalog_authors, tenant_shares
from meta.store.engine import keyset, scope
from meta.store.engine.pool import Transaction
from meta.store.engine.row_columns import row_columns
from meta.store.tables.server import access_tokens
from meta.store.tables.tenants import tenants
from meta.store.versions.clock import ago
from segments.ids import new_uuid7


@dataclass(frozen=True, slots=True)
class AccessToken:
    """An access token without its secret; `expires_at` None = never."""

    id: UUID
    subject: str
    role: str
    hint: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    # None = all.
    dataset_ids: Sequence[UUID] | None
    # Fingerprint of the digest's pepper; "" = not known.
    fingerprint: str
    # Name of its tenant; of an operator's token as well, which is not of that tenant.
    tenant: str


class ValidAccess(NamedTuple):
    """Rights of a valid token; dataset_ids None = all."""

    digest: bytes
    subject: str
    role: str
    dataset_ids: frozenset[UUID] | None
    fingerprint: str
    # In nanoseconds since 1970; 0 = never.
    expires_at_nanos: int
    created_at_nanos: int
    tenant: CallerTenant


# Text, since RETURNING has no FROM that a sub-select of SQLAlchemy could refer to.
_TENANT_NAME: ColumnElement[str] = literal_column(
    "(SELECT t.name FROM tenants t WHERE t.key = access_tokens.tenant_key)"
)
_COLUMNS = row_columns(
    AccessToken, access_tokens, fingerprint=access_tokens.c.pepper, tenant=_TENANT_NAME
)
_IS_VALID = and_(
    access_tokens.c.revoked_at.is_(None),
    or_(access_tokens.c.expires_at.is_(None), access_tokens.c.expires_at > func.now()),
)
_ALL: Select[*tuple[Any, ...]] = select(*_COLUMNS)
_BY_IDS = _ALL.where(access_tokens.c.id == func.any(bindparam("ids")))
_LISTED: Select[*tuple[Any, ...]] = select(
    access_tokens.c.id,
    func.octet_length(access_tokens.c.subject) + catalog_authors.size_of(access_tokens.c.id),
)
_VALID: Select[*tuple[Any, ...]] = select(
    access_tokens.c.digest,
    access_tokens.c.subject,
    access_tokens.c.role,
    access_tokens.c.dataset_ids,
    access_tokens.c.pepper,
    access_tokens.c.expires_at,
    access_tokens.c.created_at,
    tenants.c.key,
    tenants.c.id,
    tenants.c.name,
    tenants.c.suspended_at.is_not(None),
    literal_column(tenant_shares.in_force("tenants.key")),
).where(_IS_VALID, tenants.c.key == access_tokens.c.tenant_key, tenants.c.deleted_at.is_(None))
_LIST_VALID = _VALID.order_by(access_tokens.c.id).limit(bindparam("most", type_=Integer))
_FIND_VALID = _VALID.where(
    access_tokens.c.digest == func.any(bindparam("digests", type_=ARRAY(LargeBinary)))
)
_REHASH = text(
    "UPDATE access_tokens SET digest = :digest, pepper = :fingerprint WHERE digest = :stored"
)
_COUNT_VALID = select(func.count()).select_from(access_tokens).where(_IS_VALID)
_COUNT_OF_TENANT = _COUNT_VALID.where(access_tokens.c.tenant_key == scope.NAMING_TENANT)
_LOCK = text("LOCK TABLE access_tokens IN SHARE ROW EXCLUSIVE MODE")
# Ended tokens are listed for as long as the audit log names them.
_FORGET = text(f"""
    WITH gone AS (DELETE FROM access_tokens
      WHERE coalesce(revoked_at, expires_at) < {ago(":kept_secs")} RETURNING id)
    DELETE FROM catalog_authors WHERE entry_id IN (SELECT id FROM gone)
""")  # noqa: S608
# The operator's tokens are rows of `default`, whose people do not see them.
_HAS_TENANT_ROLE = access_tokens.c.role.in_([role.value for role in TENANT_ROLES])
_INSERT = insert(access_tokens).returning(*_COLUMNS)
_REVOKE = (
    update(access_tokens)
    .where(access_tokens.c.id == bindparam("token_id"))
    .where(scope.is_reached(access_tokens.c.tenant_key))
    .where(or_(bindparam("every_role", type_=Boolean), _HAS_TENANT_ROLE))
    .values(revoked_at=func.coalesce(access_tokens.c.revoked_at, func.now()))
    .returning(*_COLUMNS)
)
_REVOKE_AMONG = text("""
    UPDATE access_tokens SET revoked_at = now()
    WHERE revoked_at IS NULL AND (cast(:ids AS uuid[]) IS NULL OR id = ANY(:ids))
""")


@dataclass(frozen=True, slots=True)
class NewAccessToken:
    """An access token to create; `expires_secs` None = it never expires."""

    subject: str
    role: str
    digest: bytes
    hint: str
    expires_secs: int | None
    fingerprint: str
    dataset_ids: tuple[UUID, ...] | None = None


def create(
    tx: Transaction, new: NewAccessToken, *, tokens_max: int, kept_secs: float
) -> AccessToken:
    """Create a token of the tenant in which the caller names things; forget those long ended.

    Raises QuotaExceeded if its tenant has `tokens_max`.
    """
    tx.execute(_LOCK)
    tx.execute(_FORGET, {"kept_secs": kept_secs})
    if tx.execute(_COUNT_OF_TENANT).scalar_one() >= tokens_max:
        raise QuotaExceeded(f"there are {tokens_max} valid access tokens, the most of a tenant")
    expires_at = None
    if new.expires_secs is not None:
        expires_at = func.now() + func.make_interval(0, 0, 0, 0, 0, 0, new.expires_secs)
    statement = _INSERT.values(
        id=new_uuid7(),
        subject=new.subject,
        role=new.role,
        digest=new.digest,
        hint=new.hint,
        expires_at=expires_at,
        dataset_ids=None if new.dataset_ids is None else list(new.dataset_ids),
        pepper=new.fingerprint,
        tenant_key=scope.naming_key(),
    )
    return AccessToken(*tx.execute(statement).one())


def check_total(tx: Transaction, total_max: int) -> None:
    """Raise QuotaExceeded if all tenants have so many valid tokens; the server's transaction."""
    if tx.execute(_COUNT_VALID).scalar_one() >= total_max:
        raise QuotaExceeded(f"there are {total_max} valid access tokens, the most of all tenants")


def list_page(tx: Transaction, window: keyset.Window) -> keyset.Page[AccessToken]:
    """One page of the tokens that the caller reaches, ended ones too."""
    listed = scope.of_tenant(_LISTED, access_tokens.c.tenant_key)
    if not access.current.get().is_operator:
        listed = listed.where(_HAS_TENANT_ROLE)
    return keyset.read_rows(tx, listed, window, _BY_IDS, AccessToken)


def revoke(tx: Transaction, token_id: UUID) -> AccessToken:
    """End a token; of one that has ended, nothing changes. Raises NotFound."""
    values = {"token_id": token_id, "every_role": access.current.get().is_operator}
    row = tx.execute(_REVOKE, values).one_or_none()
    if row is None:
        raise NotFound("there is no such access token", token_id=token_id)
    return AccessToken(*row)


def revoke_among(tx: Transaction, token_ids: Sequence[UUID] | None) -> int:
    """End those of some tokens that are not revoked, None = of all; returns how many."""
    ids = None if token_ids is None else list(token_ids)
    return tx.execute(_REVOKE_AMONG, {"ids": ids}).rowcount


def list_valid(tx: Transaction, most: int) -> dict[bytes, ValidAccess]:
    """Rights of the first tokens that are valid now, by digest."""
    return {row.digest: row for row in map(_valid, tx.execute(_LIST_VALID, {"most": most}))}


def find_valid(tx: Transaction, digests: Sequence[bytes]) -> dict[bytes, ValidAccess]:
    """Rights of the tokens that are stored by these digests and valid now, by the stored digest."""
    rows = tx.execute(_FIND_VALID, {"digests": list(digests)})
    return {access.digest: access for access in map(_valid, rows)}


def rehash(tx: Transaction, stored: bytes, digest: bytes, fingerprint: str) -> None:
    """Store a token by another digest of the same plaintext."""
    tx.execute(_REHASH, {"stored": stored, "digest": digest, "fingerprint": fingerprint})


def _valid(row: Any) -> ValidAccess:
    digest, subject, role, dataset_ids, fingerprint, expires_at, created_at = row[:7]
    key, tenant_id, name, is_suspended, shares = row[7:]
    ids = None if dataset_ids is None else frozenset(dataset_ids)
    expires_at_nanos, created_at_nanos = (
        int(moment.timestamp()) * 10**9 if moment else 0 for moment in (expires_at, created_at)
    )
    return ValidAccess(
        bytes(digest),
        subject,
        role,
        ids,
        fingerprint,
        expires_at_nanos,
        created_at_nanos,
        CallerTenant(key, tenant_id, name, is_suspended, tenant_shares.made(shares)),
    )
