"""Lookups of access tokens that the cache does not hold: one query at a time, for all that wait.

So guesses cost the database the same however many there are and wherever they come from, and a
token that was created a moment ago is found among them.
"""

import asyncio
from collections.abc import Iterable
from contextvars import Context

from meta.commits.transactions import Transactions
from meta.errors import Unavailable
from meta.rpc.restrictions import STRANGER, count_restricted
from meta.store.access import access_tokens
from meta.store.access.access_tokens import ValidAccess
from meta.store.access.token_secrets import TokenDigests

# Pause between two queries.
PAUSE_SECS = 0.05
WAITING_MAX = 256


class TokenLookups:
    """The tokens that wait for the next query; used on the event loop."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        # Waiting calls by the digest under the current pepper.
        self._waiting: dict[bytes, tuple[TokenDigests, asyncio.Future[ValidAccess | None]]] = {}
        self._running: asyncio.Task[None] | None = None

    async def find(self, digests: TokenDigests) -> ValidAccess | None:
        """The valid token of these digests, None if there is none. Raises Unavailable."""
        _, answer = self._waiting.get(digests.current) or self._add(digests)
        # Others may wait for the same token.
        return await asyncio.shield(answer)

    def _add(
        self, digests: TokenDigests
    ) -> "tuple[TokenDigests, asyncio.Future[ValidAccess | None]]":
        if len(self._waiting) >= WAITING_MAX:
            count_restricted(STRANGER, "lookups")
            raise Unavailable("too many unknown access tokens are looked up: try again")
        loop = asyncio.get_running_loop()
        entry = digests, loop.create_future()
        self._waiting[digests.current] = entry
        if self._running is None:
            # Its context is its own: the first call may be cancelled without the others.
            self._running = loop.create_task(self._run(), context=Context())
        return entry

    async def _run(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = list(self._waiting.values()), {}
                await self._answer(batch)
                await asyncio.sleep(PAUSE_SECS)
        finally:
            self._running = None

    async def _answer(
        self, batch: "Iterable[tuple[TokenDigests, asyncio.Future[ValidAccess | None]]]"
    ) -> None:
        digests_of_all = [digest for digests, _ in batch for digest in digests.all()]
        try:
            valid = await asyncio.to_thread(
                self._transactions.read, lambda tx: access_tokens.find_valid(tx, digests_of_all)
            )
        except Exception as error:  # noqa: BLE001 - each waiting call raises it
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(error)
                    # The waiting callers may have left.
                    answer.exception()
            return
        for digests, answer in batch:
            if not answer.done():
                answer.set_result(next(filter(None, map(valid.get, digests.all())), None))
