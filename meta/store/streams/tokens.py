"""Ingest tokens: digests, routing, revocation."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import Select, func, select, text

from meta.errors import NotFound, QuotaExceeded
from meta.store.access import catalog_authors, tenant_shares
from meta.store.engine import keyset, scope
from meta.store.engine.pool import Transaction
from meta.store.tables.streams import ingest_tokens
from meta.store.versions import versions
from meta.store.versions.versions import Version
from segments.ids import new_uuid7

Lock: TypeAlias = Literal["", "FOR SHARE", "FOR UPDATE"]


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


class ShownToken(NamedTuple):
    """The token behind a secret, and the digest by which it is stored."""

    token: IngestToken
    stored: bytes
    # False if it is revoked, or its tenant suspended or deleted. Records that were accepted before
    # are committed and merged.
    is_accepted: bool


_COLUMNS = (
    "id, name, hint, created_at, revoked_at, logs_dataset_id, traces_dataset_id,"
    " metrics_dataset_id, pepper"
)
_ALL = f"SELECT {_COLUMNS} FROM ingest_tokens"  # noqa: S608
_LOCKS: tuple[Lock, ...] = ("", "FOR SHARE", "FOR UPDATE")
_REACHED = scope.reaches("ingest_tokens")
_BY_ID = {lock: scope.statement(f"{_ALL} WHERE id = :id AND {_REACHED} {lock}") for lock in _LOCKS}
_IN_ORDER = text(f"{_ALL} ORDER BY id")
_ACTIVE = text(f"{_ALL} WHERE revoked_at IS NULL ORDER BY id")
_ACTIVE_PAGE = text(f"{_ALL} WHERE id > :after AND revoked_at IS NULL ORDER BY id LIMIT :most")
# Uses the index of changes, even if the planner expects to find enough along the ids.
_CHANGED = text(f"""
    {_ALL} WHERE id > :after
      AND id IN (SELECT id FROM ingest_tokens WHERE changed_version > :since OFFSET 0)
    ORDER BY id LIMIT :most
""")  # noqa: S608
_BY_DIGESTS = text(f"""
    SELECT {_COLUMNS}, digest, revoked_at IS NULL AND EXISTS (
      SELECT FROM tenants t WHERE t.key = tenant_key
        AND t.suspended_at IS NULL AND t.deleted_at IS NULL) AS is_accepted
    FROM ingest_tokens WHERE digest = ANY(cast(:digests AS bytea[]))
""")  # noqa: S608
_BY_IDS = scope.statement(f"{_ALL} WHERE id = ANY(cast(:ids AS uuid[])) AND {_REACHED}")
_REHASH = text(
    "UPDATE ingest_tokens SET digest = :digest, pepper = :fingerprint WHERE digest = :stored"
)
_LISTED: Select[*tuple[Any, ...]] = select(
    ingest_tokens.c.id,
    func.octet_length(ingest_tokens.c.name) + catalog_authors.size_of(ingest_tokens.c.id),
).where(ingest_tokens.c.tenant_key == scope.NAMING_TENANT)
_COUNT = text("SELECT count(*) FROM ingest_tokens")
_COUNT_ACTIVE = text("SELECT count(*) FROM ingest_tokens WHERE revoked_at IS NULL")
_INSERT = scope.statement(f"""
    INSERT INTO ingest_tokens (id, name, digest, pepper, hint, logs_dataset_id,
      traces_dataset_id, metrics_dataset_id, tenant_key)
    VALUES (:id, :name, :digest, :pepper, :hint, :dataset, :dataset, :dataset, :naming_tenant)
    RETURNING {_COLUMNS}
""")  # noqa: S608
_STAMP = text("UPDATE ingest_tokens SET changed_version = :version WHERE id = :token")
_REVOKE = scope.statement(
    f"UPDATE ingest_tokens SET revoked_at = now() WHERE id = :token AND {_REACHED}"  # noqa: S608
)
_ROUTE = scope.statement(f"""
    UPDATE ingest_tokens SET logs_dataset_id = :logs, traces_dataset_id = :traces,
      metrics_dataset_id = :metrics WHERE id = :token AND {_REACHED}
""")  # noqa: S608
_DELETE = scope.statement(f"DELETE FROM ingest_tokens WHERE id = :token AND {_REACHED}")  # noqa: S608


def find_by_digests(tx: Transaction, digests: Sequence[bytes]) -> ShownToken | None:
    """The token that is stored by one of the digests, also one that is not accepted."""
    row = tx.execute(_BY_DIGESTS, {"digests": list(digests)}).one_or_none()
    return None if row is None else ShownToken(_made(row[:-2]), bytes(row[-2]), row[-1])


def rehash(tx: Transaction, stored: bytes, digest: bytes, fingerprint: str) -> None:
    """Store a token by another digest of the same plaintext."""
    tx.execute(_REHASH, {"stored": stored, "digest": digest, "fingerprint": fingerprint})


def find(tx: Transaction, token_id: UUID, lock: Lock = "") -> IngestToken | None:
    """The token with this id, revoked or not; with a clause that locks it until the commit.

    FOR SHARE keeps its routing and revocation as they are, FOR UPDATE lets it be changed. After
    datasets, before streams in the order of locks.
    """
    row = tx.execute(_BY_ID[lock], {"id": token_id}).one_or_none()
    return None if row is None else _made(row)


def get(tx: Transaction, token_id: UUID, lock: Lock = "") -> IngestToken:
    """The token with this id; raises NotFound."""
    token = find(tx, token_id, lock)
    if token is None:
        raise NotFound("there is no such ingest token", token_id=token_id)
    return token


def list_all(tx: Transaction) -> list[IngestToken]:
    """Every token, oldest first; `count` says how many."""
    return [_made(row) for row in tx.execute(_IN_ORDER)]


def count(tx: Transaction) -> int:
    """Count the tokens, revoked ones too."""
    return int(tx.execute(_COUNT).scalar_one())


def count_active(tx: Transaction) -> int:
    """Count the tokens that are not revoked."""
    return int(tx.execute(_COUNT_ACTIVE).scalar_one())


def list_page(tx: Transaction, window: keyset.Window) -> keyset.Page[IngestToken]:
    """One page of the tokens."""
    return keyset.read_rows(tx, _LISTED, window, _BY_IDS, lambda *row: _made(row))


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
        "dataset": dataset_id,
    }
    token = _made(tx.execute(_INSERT, values).one())
    stamp(tx, token.id, versions.allocate(tx))
    # Counted behind the counter's lock, which creations take one after the other.
    if count(tx) > tokens_max:
        raise QuotaExceeded(f"there are {tokens_max} ingest tokens already", limit=tokens_max)
    tenant_shares.check(tx, "ingest tokens", tokens_max)
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
