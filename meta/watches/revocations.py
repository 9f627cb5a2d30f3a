"""Revocations that a restored database has forgotten."""

from collections.abc import Iterable
from uuid import UUID

from meta.store.access import access_tokens
from meta.store.engine.pool import Transaction
from meta.store.streams import routing, tokens
from meta.store.versions import versions
from segments.keys import RevokedKey

ACCESS, INGEST = "access", "ingest"
__all__ = ["ACCESS", "INGEST", "RevokedKey", "revoke_again", "revoke_all"]


def revoke_again(tx: Transaction, revoked: Iterable[RevokedKey]) -> int:
    """Revoke tokens that were revoked once and are valid here; returns how many."""
    ids: dict[str, set[UUID]] = {ACCESS: set(), INGEST: set()}
    for key in revoked:
        ids[key.kind].add(UUID(key.token_id))
    return _revoke_ingest(tx, ids[INGEST]) + access_tokens.revoke_among(tx, sorted(ids[ACCESS]))


def revoke_all(tx: Transaction) -> int:
    """Revoke every token that is valid; returns how many."""
    return _revoke_ingest(tx, None) + access_tokens.revoke_among(tx, None)


def _revoke_ingest(tx: Transaction, among: set[UUID] | None) -> int:
    """Revoke the valid ingest tokens among some, None = all."""
    number = 0
    for active in sorted(tokens.list_active(tx), key=lambda token: token.id):
        if among is not None and active.id not in among:
            continue
        token = tokens.find(tx, active.id, "FOR UPDATE")
        if token is None or token.revoked_at is not None:
            continue
        tokens.revoke(tx, token.id)
        routing.note_revoked(tx, token.id)
        tokens.stamp(tx, token.id, versions.allocate(tx))
        number += 1
    return number
