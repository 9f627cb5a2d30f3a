"""Change feed: one poller a process reads what versions changed and hands it to all watchers.

The poller runs while there are watchers. Each has a bounded queue: one that does not keep up is
dropped and resumes with the last version that it received.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial

import structlog

from meta import access
from meta.commits.transactions import Transactions
from meta.errors import MetaError, NotFound, Overloaded, Unavailable, VersionExpired
from meta.store.engine.pool import Transaction
from meta.store.lookup import changes
from meta.store.lookup.changes import ChangeBatch, WatchedDataset
from meta.store.versions import versions

log = structlog.get_logger()
POLL_SECS = 0.25
CHANGES_AT_ONCE = 1_000
QUEUE_CHANGES_MAX = 20_000
# A subject, or a tenant, holds at most such a part of the places of watchers.
ACCOUNT_SHARE = 2


class Watcher:
    """One reader of a dataset's changes; used on the event loop only."""

    def __init__(self, position: int) -> None:
        # All changes up to this version were queued or came before the subscription.
        self.position = self.position_at_start = position
        self._batches: deque[ChangeBatch] = deque()
        self._num_changes = 0
        self._end: MetaError | None = None
        self._arrived = asyncio.Event()

    async def next(self, timeout_secs: float) -> ChangeBatch | None:
        """The next batch, None after the timeout. Raises what ended the subscription."""
        if not self._batches and self._end is None:
            try:
                async with asyncio.timeout(timeout_secs):
                    await self._arrived.wait()
            except TimeoutError:
                return None
        if not self._batches:
            assert self._end is not None
            raise self._end
        batch = self._batches.popleft()
        self._num_changes -= len(batch.changes)
        if not self._batches and self._end is None:
            self._arrived.clear()
        return batch

    def push(self, batch: ChangeBatch) -> None:
        """Queue a batch, or drop the watcher if its queue is full."""
        if self._end is not None:
            return
        if self._num_changes + len(batch.changes) > max(QUEUE_CHANGES_MAX, len(batch.changes)):
            self._batches.clear()
            self.end(Overloaded("the reader is too slow: resume with its last through_version"))
            return
        self.position = batch.through
        if batch.changes:
            self._batches.append(batch)
            self._num_changes += len(batch.changes)
            self._arrived.set()

    def end(self, error: MetaError) -> None:
        """End the subscription behind the batches that are queued."""
        if self._end is None:
            self._end = error
        self._arrived.set()


@dataclass(slots=True)
class _Topic:
    dataset: WatchedDataset
    watchers: set[Watcher] = field(default_factory=set)


class ChangeFeed:
    """The watchers of a process, and the task that polls for them."""

    def __init__(self, transactions: Transactions, watchers_max: int) -> None:
        self._transactions = transactions
        self._watchers_max = watchers_max
        self._watchers = 0
        self._accounts: Counter[str] = Counter()
        self._topics: dict[int, _Topic] = {}
        self._poller: asyncio.Task[None] | None = None
        self._is_closed = False

    @contextmanager
    def place(self) -> Iterator[None]:
        """Hold one of the places of watchers, of which a subject or tenant has half at most.

        Raises Overloaded, Unavailable while it drains.
        """
        # Checked before the first reply: after one, clients would take this server for a good one.
        if self._is_closed:
            raise _draining()
        if self._watchers >= self._watchers_max:
            raise Overloaded(f"the server has {self._watchers} watchers, its maximum")
        principal = access.current.get()
        account = "" if principal.is_shared else principal.account
        most = max(1, self._watchers_max // ACCOUNT_SHARE)
        most = min(most, principal.account_shares.of(self._watchers_max))
        if account and self._accounts[account] >= most:
            raise Overloaded(f"you have {self._accounts[account]} watchers, the most of one caller")
        self._watchers += 1
        self._accounts[account] += 1
        try:
            yield
        finally:
            self._watchers -= 1
            self._accounts[account] -= 1
            if not self._accounts[account]:
                del self._accounts[account]

    def subscribe(self, dataset: WatchedDataset) -> Watcher:
        """Watch a dataset from the position of its topic, or from `since` if it is the first.

        `Watcher.position_at_start` says which. Raises Unavailable while the server drains.
        """
        if self._is_closed:
            raise _draining()
        topic = self._topics.setdefault(dataset.key, _Topic(dataset))
        watcher = Watcher(topic.dataset.since)
        topic.watchers.add(watcher)
        if self._poller is None or self._poller.done():
            # It reads for all watchers, whoever came first.
            self._poller = asyncio.create_task(self._poll(), context=Context())
        return watcher

    def unsubscribe(self, dataset: WatchedDataset, watcher: Watcher) -> None:
        """Forget a watcher; the last one of a dataset ends its topic."""
        topic = self._topics.get(dataset.key)
        if topic is None:
            return
        topic.watchers.discard(watcher)
        if not topic.watchers:
            del self._topics[dataset.key]

    async def close(self) -> None:
        """End all watchers, so that they continue at another server, and the poller."""
        self._is_closed = True
        self._end_all(_draining())
        if self._poller is not None:
            await asyncio.gather(self._poller, return_exceptions=True)

    async def _poll(self) -> None:
        while self._topics and not self._is_closed:
            datasets = [topic.dataset for topic in self._topics.values()]
            try:
                seen, batches = await asyncio.to_thread(
                    self._transactions.read, partial(_changes, datasets=datasets)
                )
            except MetaError as error:
                log.warning("change_poll_failed", error=str(error))
                self._end_all(Unavailable("changes cannot be read now"))
                return
            except Exception:
                log.exception("change_poll_failed")
                self._end_all(Unavailable("changes cannot be read now"))
                return
            is_behind = self._hand_out(datasets, batches, seen)
            if not is_behind:
                await asyncio.sleep(POLL_SECS)

    def _hand_out(
        self,
        datasets: Sequence[WatchedDataset],
        batches: Mapping[int, ChangeBatch | MetaError],
        seen: int,
    ) -> bool:
        """Queue batches for watchers; true if a dataset has changes that were not read."""
        is_behind = False
        for dataset in datasets:
            topic = self._topics.get(dataset.key)
            if topic is None or topic.dataset is not dataset or dataset.key not in batches:
                continue
            batch = batches[dataset.key]
            if isinstance(batch, MetaError):
                del self._topics[dataset.key]
                for watcher in topic.watchers:
                    watcher.end(batch)
                continue
            topic.dataset = WatchedDataset(dataset.key, dataset.id, batch.through)
            is_behind |= batch.through < seen
            for watcher in topic.watchers:
                watcher.push(batch)
        return is_behind

    def _end_all(self, error: MetaError) -> None:
        topics, self._topics = self._topics, {}
        for topic in topics.values():
            for watcher in topic.watchers:
                watcher.end(error)


def _changes(
    tx: Transaction, datasets: Sequence[WatchedDataset]
) -> tuple[int, Mapping[int, ChangeBatch | MetaError]]:
    """The version, and the changes of each dataset up to it or the reason why they are unknown."""
    version = int(versions.current(tx))
    behind = [dataset for dataset in datasets if dataset.since < version]
    if not behind:
        return version, {}
    horizons = changes.horizons(tx, behind)
    ended = {
        dataset.key: error
        for dataset in behind
        if (error := _end_of(dataset, horizons.get(dataset.key)))
    }
    going_on = [dataset for dataset in behind if dataset.key not in ended]
    return version, {**ended, **changes.read(tx, going_on, version, CHANGES_AT_ONCE)}


def _end_of(dataset: WatchedDataset, horizon: int | None) -> MetaError | None:
    if horizon is None:
        return NotFound("the dataset was deleted", dataset_id=dataset.id)
    if dataset.since < horizon:
        # After a pause longer than the grace, rows of removed segments may be deleted.
        return VersionExpired("changes since the version are forgotten", version=dataset.since)
    return None


def _draining() -> Unavailable:
    return Unavailable("the server is shutting down: resume at another one")
