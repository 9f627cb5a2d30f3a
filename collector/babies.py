"""The objects of one ingest stream: put if absent, read, list and decode baby segments."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TypeVar

import structlog

from collector.export import read_facts
from collector.ingestion import Commit
from collector.refusal import Refused
from collector.retry import Backoff
from segments.baby import Baby, decode_baby
from segments.errors import CorruptObject, ObjectExists, ObjectMissing, StoreError
from segments.keys import BabyKey, baby_key, baby_prefix, parse_key
from segments.store.interface import ObjectInfo, ObjectStore

log = structlog.get_logger()

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class FoundBaby:
    """A baby that stands in the store, reduced to what the collector does with it."""

    commit: Commit
    digests: tuple[bytes, ...]
    is_stop: bool


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

    async def put(self, offset: int, pieces: Sequence[bytes]) -> bool:
        """Write a baby; false if something stands at the offset, which may be this baby."""
        key = baby_key(self.stream_id, offset)
        try:
            await self._retry("put", lambda: self.store.put_pieces_if_absent(key, pieces))
        except ObjectExists:
            return False
        return True

    async def get(self, offset: int) -> bytes | None:
        """Read a baby; None if there is none."""
        key = baby_key(self.stream_id, offset)
        try:
            return await self._retry("get", lambda: self.store.get(key))
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


def read_found(body: bytes) -> FoundBaby:
    """Say what a found baby holds; one that cannot be read is committed as empty.

    The nursery puts its bytes into the quarantine; were it not committed, the stream would stand
    still for ever.
    """
    try:
        baby = decode_baby(body)
    except CorruptObject as error:
        log.error("baby_corrupt", error=str(error))
        return FoundBaby(Commit(0, 0, len(body), 0, b"", {}), (), is_stop=False)
    if not baby.is_stamped:
        return FoundBaby(_counted(baby, len(body)), (), baby.is_stop)
    digests = tuple(export.digest for part in baby.parts for export in part.exports)
    return FoundBaby(Commit.of(baby, len(body)), digests, baby.is_stop)


def flush_id_of(body: bytes) -> bytes | None:
    """Return the flush id of a baby; None if it has none or cannot be read."""
    try:
        return decode_baby(body).flush_id or None
    except CorruptObject:
        return None


def _counted(baby: Baby, size_bytes: int) -> Commit:
    """Count an unstamped baby, as a collector that knows only the contract writes them."""
    num_records, times = 0, list[int]()
    for part in baby.parts:
        for payload in part.slices:
            try:
                facts = read_facts(part.signal, payload)
            except Refused:
                continue  # Counted by the nursery, in the quarantine.
            num_records += facts.num_records
            times.extend(facts.times or ())
    return Commit(min(times, default=0), max(times, default=0), size_bytes, num_records, b"", {})
