"""Checks that a caller may write to a stream, without a query for every commit."""

import asyncio
import threading
from uuid import UUID

from meta import access
from meta.commits.transactions import Transactions
from meta.roles import Role
from meta.store.streams import streams

STREAMS_MAX = 50_000


class StreamCallers:
    """Remembers the callers that may write to each stream: a stream never changes its owner."""

    def __init__(self, transactions: Transactions, streams_max: int = STREAMS_MAX) -> None:
        self._transactions = transactions
        self._streams_max = streams_max
        self._subjects: dict[tuple[UUID, str], None] = {}
        self._lock = threading.Lock()

    async def check(self, stream_id: UUID) -> None:
        """Raise NotFound or RoleRefused unless the caller may write; on the event loop."""
        caller = access.current.get()
        if caller.role is not Role.INGEST:
            return
        key = (stream_id, caller.subject)
        if key in self._subjects:
            return
        await asyncio.to_thread(
            self._transactions.read, lambda tx: streams.check_owner(tx, stream_id)
        )
        self.remember(stream_id)

    def remember(self, stream_id: UUID) -> None:
        """Note that the caller may write to a stream, as its owner may; in any thread."""
        caller = access.current.get()
        if caller.role is not Role.INGEST:
            return
        with self._lock:
            if len(self._subjects) >= self._streams_max:
                del self._subjects[next(iter(self._subjects))]
            self._subjects[stream_id, caller.subject] = None
