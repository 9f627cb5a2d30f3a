"""Watch of the least release that may serve the database; notes this server beside it."""

import socket
from uuid import uuid4

import structlog

from meta import release
from meta.commits.transactions import Transactions
from meta.errors import ReleaseTooLow
from meta.process.installed import installed_release
from meta.process.shutdown import Shutdown
from meta.store.engine.pool import Transaction
from meta.store.workers import servers
from meta.store.workers.servers import MetaServer

log = structlog.get_logger()
HOST_LENGTH_MAX = 255


class ReleaseWatch:
    """One server's row, and the end of the server if its release may not serve any more."""

    def __init__(
        self, transactions: Transactions, shutdown: Shutdown, own_release: str | None = None
    ) -> None:
        self._transactions = transactions
        self._shutdown = shutdown
        self._server = MetaServer(
            uuid4(), socket.gethostname()[:HOST_LENGTH_MAX], own_release or installed_release()
        )
        self._has_begun = False
        self._refusal = ""

    def run_round(self) -> None:
        """Note the server; request its shutdown if its release is too low."""
        least_release = self._transactions.write(self._note)
        self._has_begun = True
        self._refusal = release.refusal(least_release, self._server.release)
        if self._refusal:
            log.error("release_too_low", error=self._refusal)
            self._shutdown.request()

    def check(self) -> None:
        """Raise ReleaseTooLow if the last round refused this server's release."""
        if self._refusal:
            raise ReleaseTooLow(self._refusal)

    def _note(self, tx: Transaction) -> str:
        if self._has_begun:
            return servers.note(tx, self._server)
        return servers.begin(tx, self._server)
