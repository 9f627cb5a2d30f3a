"""Rounds that delete what deleted tenants have, once their grace is over."""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias
from uuid import UUID

import structlog

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import DeletionHeld, StillReferenced
from meta.process.shutdown import Shutdown
from meta.store.access import server_state
from meta.store.catalog.resources import ResourceKind
from meta.store.engine.pool import Database, Transaction
from meta.store.tenancy import purge

log = structlog.get_logger()
Page: TypeAlias = Callable[[Transaction, UUID], list[UUID]]


class TenantPurge:
    """One server's rounds; those of several servers do the same steps, which may be repeated."""

    def __init__(self, database: Database, settings: Settings, shutdown: Shutdown) -> None:
        self._continuity = database.continuity
        self._transactions = Transactions(database)
        self._grace_secs = settings.lifetimes.dataset_grace
        self._shutdown = shutdown

    def run_round(self) -> None:
        """Do what can be done now; what has to wait is tried again in the next round."""
        try:
            # A restored database may have forgotten that a tenant came back.
            self._transactions.read(server_state.check_deletion_allowed)
        except DeletionHeld:
            return
        ended = self._transactions.write(lambda tx: purge.end_grace(tx, self._grace_secs))
        if ended:
            log.info("tenants_purged", tenants=ended)
        self._each(purge.access_token_ids, self._revoke_access_token)
        self._each(purge.ingest_token_ids, self._revoke_ingest_token)
        self._each(purge.dataset_ids, self._delete_dataset)
        for kind in purge.ENTRIES:
            page = partial(_entry_page, kind=kind)
            self._each(page, partial(self._delete_entry, kind=kind))

    def _each(self, page: Page, act: Callable[[UUID], None]) -> None:
        """Act on each row of all pages; one that others refer to waits."""
        after = UUID(int=0)
        while ids := self._next(page, after):
            for row_id in ids:
                try:
                    act(row_id)
                except StillReferenced as error:
                    log.info("tenant_purge_waits", id=str(row_id), reason=error.reason)
            after = ids[-1]

    def _next(self, page: Page, after: UUID) -> list[UUID]:
        if self._shutdown.is_requested:
            return []
        return self._transactions.read(lambda tx: page(tx, after))

    def _revoke_access_token(self, token_id: UUID) -> None:
        self._transactions.write(lambda tx: purge.revoke_access_token(tx, token_id))
        self._continuity.note_revoked("access", str(token_id))

    def _revoke_ingest_token(self, token_id: UUID) -> None:
        self._transactions.write(lambda tx: purge.revoke_ingest_token(tx, token_id))
        self._continuity.note_revoked("ingest", str(token_id))

    def _delete_dataset(self, dataset_id: UUID) -> None:
        self._transactions.write(lambda tx: purge.delete_dataset(tx, dataset_id))

    def _delete_entry(self, entry_id: UUID, *, kind: ResourceKind) -> None:
        self._transactions.write(lambda tx: purge.delete_entry(tx, kind, entry_id))


def _entry_page(tx: Transaction, after: UUID, *, kind: ResourceKind) -> list[UUID]:
    return purge.entry_ids(tx, kind, after)
