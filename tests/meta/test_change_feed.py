"""The queues of watchers: bounded, in order, and ended with a reason."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from uuid import UUID

import pytest

from meta import access
from meta.commits.change_feed import QUEUE_CHANGES_MAX, ChangeFeed, Watcher
from meta.commits.transactions import Transactions
from meta.errors import NotFound, Overloaded, Unavailable, VersionExpired
from meta.roles import Role
from meta.store.lookup.changes import ChangeBatch, SegmentChange, WatchedDataset
from meta.store.segments.segments import SegmentRow
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer

CHANGE = SegmentChange(
    1, 1, False, False, None, SegmentRow("i", "d", 0, 0, 1, 1, 1, "p", "o", 1, None, 0)
)


def batch(size: int, through: int) -> ChangeBatch:
    return ChangeBatch((CHANGE,) * size, through)


def test_batches_arrive_in_order_and_empty_ones_only_move_the_position() -> None:
    async def work() -> None:
        watcher = Watcher(0)
        for through, size in enumerate((1, 0, 2), start=1):
            watcher.push(batch(size, through))

        assert [(await watcher.next(1), await watcher.next(1))] == [(batch(1, 1), batch(2, 3))]
        assert await watcher.next(0.01) is None
        assert watcher.position == 3

    asyncio.run(work())


@pytest.mark.parametrize("size", [QUEUE_CHANGES_MAX, QUEUE_CHANGES_MAX + 1])
def test_a_watcher_that_does_not_keep_up_is_dropped(size: int) -> None:
    async def work() -> None:
        watcher = Watcher(0)
        watcher.push(batch(1, 1))
        watcher.push(batch(size - 1, 2))
        watcher.push(batch(0, 3))

        if size == QUEUE_CHANGES_MAX:
            assert await watcher.next(1) == batch(1, 1)
            assert await watcher.next(1) == batch(size - 1, 2)
            return
        # Nothing behind the gap is handed out.
        with pytest.raises(Overloaded):
            await watcher.next(1)
        assert watcher.position == 1

    asyncio.run(work())


def test_a_version_larger_than_the_queue_is_taken_alone() -> None:
    async def work() -> None:
        watcher = Watcher(0)
        watcher.push(batch(QUEUE_CHANGES_MAX + 5, 1))

        assert await watcher.next(1) == batch(QUEUE_CHANGES_MAX + 5, 1)

    asyncio.run(work())


def test_what_is_queued_comes_before_the_end() -> None:
    async def work() -> None:
        watcher = Watcher(0)
        watcher.push(batch(1, 1))
        watcher.end(NotFound("gone"))

        assert await watcher.next(1) == batch(1, 1)
        with pytest.raises(NotFound):
            await watcher.next(1)

    asyncio.run(work())


def test_places_are_bounded_and_given_back(meta_server: MetaServer) -> None:
    feed = ChangeFeed(Transactions(meta_server.running.database), 2)

    with feed.place(), feed.place(), pytest.raises(Overloaded), feed.place():
        pass
    with feed.place():
        pass


def test_a_feed_that_paused_longer_than_the_grace_ends_and_skips_nothing(
    meta_server: MetaServer, catalog: CatalogDriver
) -> None:
    """The poller of a suspended process goes on below the deletion horizon."""
    dataset_id = UUID(catalog.dataset("web"))
    catalog.dataset("other")
    with meta_server.running.database.write() as tx:
        key = tx.exec_driver_sql("SELECT key FROM datasets WHERE name = 'web'").scalar_one()
        tx.exec_driver_sql(
            "UPDATE datasets SET deletion_horizon = (SELECT version FROM meta_state)"
        )

    async def work() -> None:
        feed = ChangeFeed(Transactions(meta_server.running.database), 2)
        watcher = feed.subscribe(WatchedDataset(key, dataset_id, 0))
        with pytest.raises(VersionExpired):
            await watcher.next(20)
        await feed.close()

    asyncio.run(work())


@pytest.mark.long
@pytest.mark.parametrize(
    "end", ["closed", pytest.param("database gone", marks=pytest.mark.database_owner)]
)
def test_watchers_end_with_the_feed_and_none_begin_after_it(
    meta_server: MetaServer, end: str
) -> None:
    dataset = WatchedDataset(10**6, UUID(int=1), 2**40)

    async def work() -> None:
        feed = ChangeFeed(Transactions(meta_server.running.database), 2)
        watcher = feed.subscribe(dataset)
        ends: dict[str, Callable[[], object]] = {"closed": feed.close}
        if end in ends:
            await feed.close()
            with pytest.raises(Unavailable):
                feed.subscribe(dataset)
        else:
            with meta_server.running.database.write() as tx:
                tx.exec_driver_sql("ALTER TABLE meta_state RENAME TO elsewhere")
        with pytest.raises(Unavailable):
            await watcher.next(20)

    asyncio.run(work())


def test_one_caller_holds_half_of_the_places_at_most(meta_server: MetaServer) -> None:
    feed = ChangeFeed(Transactions(meta_server.running.database), 4)

    def take(subject: str, stack: ExitStack) -> None:
        token = access.current.set(access.Principal(subject, Role.READER))
        try:
            stack.enter_context(feed.place())
        finally:
            access.current.reset(token)

    with ExitStack() as stack:
        take("ann", stack)
        take("ann", stack)
        with pytest.raises(Overloaded, match="one caller"):
            take("ann", stack)
        take("bob", stack)
