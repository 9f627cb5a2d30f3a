"""The objects of one ingest stream: put if absent, read and list baby segments."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TypeVar

import structlog

from collector.retry import Backoff
from dataplane.baby_facts import FoundBaby, read_baby
from meta.self_report import Progress
from segments.baby import Baby, baby_pieces
from segments.errors import ObjectExists, ObjectMissing, StoreError
from segments.keys import BabyKey, baby_key, baby_prefix, parse_key
from segments.store.interface import ObjectInfo, ObjectStore

log = structlog.get_logger()

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ListedBaby:
    """One line of a stream's listing."""

    offset: int
    info: ObjectInfo


@dataclass(frozen=True, slots=True)
class StreamBabies:
    """Asynchronous access to one stream's objects; store errors are retried without limit."""

    store: ObjectStore
    threads: Executor
    stream_id: str
    # Has the calls of meta that fail at the moment.
    progress: Progress = field(default_factory=Progress)

    async def encode(self, baby: Baby) -> tuple[bytes, ...]:
        """Encode a baby in the threads of the store, which no sender's export occupies."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, baby_pieces, baby)

    async def put(self, offset: int, pieces: Sequence[bytes]) -> bool:
        """Write a baby; false if something stands at the offset, which may be this baby."""
        key = baby_key(self.stream_id, offset)
        try:
            await self._retry("put", lambda: self.store.put_if_absent(key, *pieces))
        except ObjectExists:
            return False
        return True

    async def read(self, offset: int) -> FoundBaby | None:
        """Read the baby at an offset; None if there is none."""
        try:
            return await self._retry("get", lambda: read_baby(self.store, self.stream_id, offset))
        except ObjectMissing:
            return None

    async def listed(self, first_offset: int) -> list[ListedBaby]:
        """List the babies from an offset on, in order."""
        prefix = baby_prefix(self.stream_id)
        after = baby_key(self.stream_id, first_offset - 1) if first_offset > 0 else ""
        infos = await self._retry("list", lambda: list(self.store.list(prefix, after)))
        return [
            ListedBaby(key.offset, info)
            for info in infos
            if isinstance(key := parse_key(info.key), BabyKey)
        ]

    async def _retry(self, what: str, call: Callable[[], _T]) -> _T:
        """Run a store call in a thread until it has an answer."""
        backoff = Backoff()
        while True:
            try:
                return await asyncio.get_running_loop().run_in_executor(self.threads, call)
            except (ObjectExists, ObjectMissing):
                raise
            except StoreError as error:
                # Retried without limit: exports under way end with their own timeout, and the
                # bounded buffer refuses new ones.
                log.warning(
                    "store_call_failed", call=what, tries=backoff.failures, error=str(error)
                )
                await backoff.wait()
