"""Ingest tokens: digests, routing, revocation."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    LargeBinary,
    Row,
    Select,
    Uuid,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from meta.errors import NotFound, QuotaExceeded
from meta.store.access import catalog_authors
from meta.store.engine import keyset
from meta.store.engine.pool import Transaction
from meta.store.tables.streams import ingest_tokens
from meta.store.versions import versions
from meta.store.versions.versions import Version
from segments.ids import new_uuid7


@dataclass(frozen=True, slots=True)
class TokenRouting:
    """The dataset of each signal; None = the signal is refused."""

    logs: UUID | None
    traces: UUID | None
    metrics: UUID | None

    def datasets(self) -> tuple[UUID, ...]:
        """The datasets that anything goes to, each once, in a fixed order."""
        return tuple(sorted({d for d in (self.logs, self.traces, self.metrics) if d is not None}))


@dataclass(frozen=True, slots=True)
class IngestToken:
    """An ingest token without its secret."""

    id: UUID
    name: str
    hint: str
    created_at: datetime
    revoked_at: datetime | None
    routing: TokenRouting
    # Fingerprint of the digest's pepper; "" = not known.
    fingerprint: str = ""


_COLUMNS = (
    ingest_tokens.c.id,
    ingest_tokens.c.name,
    ingest_tokens.c.hint,
    ingest_tokens.c.created_at,
    ingest_tokens.c.revoked_at,
    ingest_tokens.c.logs_dataset_id,
    ingest_tokens.c.traces_dataset_id,
    ingest_tokens.c.metrics_dataset_id,
    ingest_tokens.c.pepper,
)
_ALL: Select[*tuple[Any, ...]] = select(*_COLUMNS)
_BY_ID = _ALL.where(ingest_tokens.c.id == bindparam("id"))
_LOCK_SHARED = _BY_ID.with_for_update(read=True)
_LOCK = _BY_ID.with_for_update()
_BY_DIGESTS: Select[*tuple[Any, ...]] = _ALL.add_columns(ingest_tokens.c.digest).where(
    ingest_tokens.c.digest == func.any(bindparam("digests", type_=ARRAY(LargeBinary)))
)
_REHASH = (
    update(ingest_tokens)
    .where(ingest_tokens.c.digest == bindparam("stored"))
    .values(digest=bindparam("digest_"), pepper=bindparam("fingerprint"))
)
_IN_ORDER = _ALL.order_by(ingest_tokens.c.id)
_ACTIVE = _IN_ORDER.where(ingest_tokens.c.revoked_at.is_(None))
_BEHIND = _IN_ORDER.where(ingest_tokens.c.id > bindparam("after")).limit(bindparam("most"))
_ACTIVE_PAGE = _BEHIND.where(ingest_tokens.c.revoked_at.is_(None))
# Uses the index of changes, even if the planner expects to find enough along the ids.
_CHANGED = _BEHIND.where(
    ingest_tokens.c.id.in_(
        select(ingest_tokens.c.id)
        .where(ingest_tokens.c.changed_version > bindparam("since"))
        .offset(0)
    )
)
_LISTED: Select[*tuple[Any, ...]] = select(
    ingest_tokens.c.id,
    func.octet_length(ingest_tokens.c.name) + catalog_authors.size_of(ingest_tokens.c.id),
)
_BY_IDS = _ALL.where(ingest_tokens.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid))))
_COUNT = select(func.count()).select_from(ingest_tokens)
_COUNT_ACTIVE = _COUNT.where(ingest_tokens.c.revoked_at.is_(None))
_INSERT = insert(ingest_tokens).returning(*_COLUMNS)
_STAMP = (
    update(ingest_tokens)
    .where(ingest_tokens.c.id == bindparam("token"))
    .values(changed_version=bindparam("version"))
)
_REVOKE = (
    update(ingest_tokens)
    .where(ingest_tokens.c.id == bindparam("token"))
    .values(revoked_at=func.now())
)
_ROUTE = (
    update(ingest_tokens)
    .where(ingest_tokens.c.id == bindparam("token"))
    .values(
        logs_dataset_id=bindparam("logs"),
        traces_dataset_id=bindparam("traces"),
        metrics_dataset_id=bindparam("metrics"),
    )
)
_DELETE = delete(ingest_tokens).where(ingest_tokens.c.id == bindparam("token"))


def find_by_digests(tx: Transaction, digests: Sequence[bytes]) -> tuple[IngestToken, bytes] | None:
    """The token that is stored by one of the digests, revoked or not, and which one that is."""
    row = tx.execute(_BY_DIGESTS, {"digests": list(digests)}).one_or_none()
    return None if row is None else (_made(row[:-1]), bytes(row[-1]))


def rehash(tx: Transaction, stored: bytes, digest: bytes, fingerprint: str) -> None:
    """Store a token by another digest of the same plaintext."""
    tx.execute(_REHASH, {"stored": stored, "digest_": digest, "fingerprint": fingerprint})


def find(tx: Transaction, token_id: UUID) -> IngestToken | None:
    """The token with this id, revoked or not."""
    return _token(tx.execute(_BY_ID, {"id": token_id}).one_or_none())


def get(tx: Transaction, token_id: UUID) -> IngestToken:
    """The token with this id; raises NotFound."""
    return _found(find(tx, token_id), token_id)


def lock_shared(tx: Transaction, token_id: UUID) -> IngestToken | None:
    """Keep a token's routing and revocation as they are until the commit."""
    return _token(tx.execute(_LOCK_SHARED, {"id": token_id}).one_or_none())


def find_locked(tx: Transaction, token_id: UUID) -> IngestToken | None:
    """Lock a token to change it. After datasets, before streams in the order of locks."""
    return _token(tx.execute(_LOCK, {"id": token_id}).one_or_none())


def get_locked(tx: Transaction, token_id: UUID) -> IngestToken:
    """Lock a token to change it; raises NotFound."""
    return _found(find_locked(tx, token_id), token_id)


def list_all(tx: Transaction) -> list[IngestToken]:
    """Every token, oldest first; `count` says how many."""
    return [_made(row) for row in tx.execute(_IN_ORDER)]


def count(tx: Transaction) -> int:
    """Count the tokens, revoked ones too."""
    return tx.execute(_COUNT).scalar_one()


def count_active(tx: Transaction) -> int:
    """Count the tokens that are not revoked."""
    return tx.execute(_COUNT_ACTIVE).scalar_one()


def list_page(tx: Transaction, window: keyset.Window) -> keyset.Page[IngestToken]:
    """One page of the tokens."""
    page = keyset.read(tx, _LISTED, window, {})
    by_id = {row.id: _made(row) for row in tx.execute(_BY_IDS, {"ids": list(page.ids)})}
    return page.map(by_id.__getitem__)


def list_routed(tx: Transaction, since: int, after: UUID, most: int) -> list[IngestToken]:
    """Tokens behind `after`, oldest first: those that changed after a version; 0 = active ones."""
    values = {"after": after, "most": most}
    if since:
        return [_made(row) for row in tx.execute(_CHANGED, values | {"since": since})]
    return [_made(row) for row in tx.execute(_ACTIVE_PAGE, values)]


def list_active(tx: Transaction) -> list[IngestToken]:
    """Every token that is not revoked, oldest first."""
    return [_made(row) for row in tx.execute(_ACTIVE)]


def create(
    tx: Transaction,
    name: str,
    digest: bytes,
    hint: str,
    dataset_id: UUID,
    *,
    tokens_max: int,
    fingerprint: str,
) -> IngestToken:
    """Insert a token whose three signals go to one dataset. Raises NameTaken, QuotaExceeded."""
    values = {
        "id": new_uuid7(),
        "name": name,
        "digest": digest,
        "pepper": fingerprint,
        "hint": hint,
        "logs_dataset_id": dataset_id,
        "traces_dataset_id": dataset_id,
        "metrics_dataset_id": dataset_id,
    }
    token = _made(tx.execute(_INSERT, values).one())
    stamp(tx, token.id, versions.allocate(tx))
    # Counted behind the counter's lock, which creations take one after the other.
    if count(tx) > tokens_max:
        raise QuotaExceeded(f"there are {tokens_max} ingest tokens already", limit=tokens_max)
    return token


def revoke(tx: Transaction, token_id: UUID) -> None:
    """Stop a locked token permanently."""
    tx.execute(_REVOKE, {"token": token_id})


def route(tx: Transaction, token_id: UUID, routing: TokenRouting) -> None:
    """Replace a locked token's routing."""
    values = {"logs": routing.logs, "traces": routing.traces, "metrics": routing.metrics}
    tx.execute(_ROUTE, {"token": token_id, **values})


def stamp(tx: Transaction, token_id: UUID, version: Version) -> None:
    """Record the version of a token's last change for nurseries."""
    tx.execute(_STAMP, {"token": token_id, "version": version})


def delete_one(tx: Transaction, token_id: UUID) -> None:
    """Remove a locked token."""
    tx.execute(_DELETE, {"token": token_id})


def _found(token: IngestToken | None, token_id: UUID) -> IngestToken:
    if token is None:
        raise NotFound("there is no such ingest token", token_id=token_id)
    return token


def _token(row: Row[*tuple[Any, ...]] | None) -> IngestToken | None:
    return None if row is None else _made(row)


def _made(row: Sequence[Any]) -> IngestToken:
    token_id, name, hint, created_at, revoked_at, logs, traces, metrics, fingerprint = row
    return IngestToken(
        token_id,
        name,
        hint,
        created_at,
        revoked_at,
        TokenRouting(logs, traces, metrics),
        fingerprint,
    )
