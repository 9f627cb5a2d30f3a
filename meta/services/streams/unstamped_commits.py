"""Bound of streams that take baby segments without stamps.

Such a baby segment may be of every entry, so a nursery polls all of them, and the routing of every
token of the stream. On a larger stream a commit has to name the datasets.
"""

import asyncio
import time
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.errors import InvalidArgument
from meta.store.streams import streams

# Entries, and tokens, of a stream that takes them; together they fit into a page of a poll.
ENTRIES_MAX = 5_000
TRUSTED_SECS = 60.0
_STREAMS_MAX = 50_000


class UnstampedCommits:
    """Checks commits without stamps; asks the database once a minute for each stream."""

    def __init__(self, transactions: Transactions, entries_max: int = ENTRIES_MAX) -> None:
        self._transactions = transactions
        self._entries_max = entries_max
        self._small_until: dict[UUID, float] = {}

    async def check(self, stream_id: UUID, offset: int) -> None:
        """Raise InvalidArgument unless the stream is small or the offset is committed already."""
        now = time.monotonic()
        if self._small_until.get(stream_id, 0.0) > now:
            return
        entries, tokens, committed_offset = await asyncio.to_thread(
            self._transactions.read,
            lambda tx: streams.size(tx, stream_id, self._entries_max + 1),
        )
        if max(entries, tokens) <= self._entries_max:
            if len(self._small_until) >= _STREAMS_MAX:
                self._small_until.clear()
            self._small_until[stream_id] = now + TRUSTED_SECS
        elif offset > committed_offset:
            raise InvalidArgument(
                f"the stream has more than {self._entries_max} entries or tokens: name the datasets"
                " of its baby segments in CommitOffset.dataset_ids",
                field="dataset_ids",
                stream_id=stream_id,
            )
