"""Group commit of registrations, in process, against the same calls in a transaction each."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from uuid import UUID, uuid4

from sqlalchemy import text

from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres
from meta import migrations
from meta.commits.group_commit import Committer
from meta.commits.transactions import Transactions
from meta.errors import MetaError
from meta.event_loop import EventLoop
from meta.store.catalog import datasets
from meta.store.engine.pool import Database, DatabaseSettings, Transaction
from meta.store.registration import registrations
from meta.store.registration.calls import Merge
from meta.store.segments.segments import NewSegment
from meta.store.streams import stream_datasets, streams
from meta.store.streams.stream_datasets import EntryMove, NewEntry
from meta.store.versions.versions import Version
from segments.keys import new_merged_key, split_key
from segments.offsets import OffsetSpan

NURSERIES = 64
MERGES_EACH = 20
ROUNDS = 3
Register = Callable[[Merge], Version]


@dataclass(frozen=True, slots=True)
class _Fleet:
    """One stream per nursery, all of one dataset, with enough committed babies."""

    dataset_id: UUID
    stream_ids: tuple[UUID, ...]


def run() -> list[Result]:
    """Both ways in turn, each on its own streams."""
    with _database() as database, closing(EventLoop(NURSERIES)) as loop:
        transactions = Transactions(database)
        committer: Committer[Merge, Version, Transaction] = Committer(
            name="bench",
            begin=database.write,
            keys=registrations.keys,
            run_batch=registrations.register_batch,
            run_alone=lambda merge: _alone(transactions, merge),
        )
        grouped, single = [], []
        for _ in range(ROUNDS):
            grouped.append(loop.run(_group_rate(_fleet(transactions), committer)))
            single.append(_rate(_fleet(transactions), lambda merge: _alone(transactions, merge)))
        _check_order(database)
    return [
        compare(
            "group_commit_registrations_per_second",
            median(grouped),
            median(single),
            reference_name="a transaction for each call",
            unit=f"registrations/s at {NURSERIES} nurseries",
            bar=5.0,
        )
    ]


def _alone(transactions: Transactions, merge: Merge) -> Version:
    (answer,) = transactions.write(lambda tx: registrations.register_batch(tx, [merge]))
    assert not isinstance(answer, MetaError), answer
    return answer


def _rate(fleet: _Fleet, register: Register) -> float:
    """Registrations per second of all nurseries together."""

    def nursery(stream_id: UUID) -> None:
        seen = Version(0)
        for offset in range(MERGES_EACH):
            version = register(_merge(fleet.dataset_id, stream_id, offset))
            assert version > seen
            seen = version

    with ThreadPoolExecutor(NURSERIES) as pool:
        began = perf_counter()
        list(pool.map(nursery, fleet.stream_ids))
        return NURSERIES * MERGES_EACH / (perf_counter() - began)


async def _group_rate(fleet: _Fleet, committer: Committer[Merge, Version, Transaction]) -> float:
    """The same with the calls on an event loop, as the server has them."""

    async def nursery(stream_id: UUID) -> None:
        seen = Version(0)
        for offset in range(MERGES_EACH):
            version = await committer.submit(_merge(fleet.dataset_id, stream_id, offset))
            assert version > seen
            seen = version

    began = perf_counter()
    await asyncio.gather(*map(nursery, fleet.stream_ids))
    return NURSERIES * MERGES_EACH / (perf_counter() - began)


def _merge(dataset_id: UUID, stream_id: UUID, offset: int) -> Merge:
    key = new_merged_key(str(dataset_id))
    prefix, name = split_key(key)
    segment = NewSegment(
        dataset_id=dataset_id,
        start_ns=1,
        end_ns=2,
        size_bytes=5_000_000,
        compressed_size_bytes=1_000_000,
        number_of_events=10_000,
        prefix=prefix,
        object_name=name,
        object_key=key,
    )
    span = OffsetSpan(str(stream_id), offset, offset)
    return Merge(dataset_id, (segment,), (EntryMove(dataset_id, span, 0),))


def _fleet(transactions: Transactions) -> _Fleet:
    def work(tx: Transaction) -> _Fleet:
        dataset = datasets.get_default(tx)
        ids = [streams.find_or_create(tx, str(uuid4()), "")[0] for _ in range(NURSERIES)]
        entries = [NewEntry(stream_id, dataset.id, -1) for stream_id in ids]
        stream_datasets.create_missing(tx, entries)
        for stream_id in ids:
            streams.advance(tx, stream_id, MERGES_EACH)
        return _Fleet(dataset.id, tuple(ids))

    return transactions.write(work)


def _check_order(database: Database) -> None:
    """Along each stream, versions rise with offsets; that is what commit order promises."""
    falls = text(
        "SELECT count(*) FROM (SELECT version - lag(version) OVER ("
        " PARTITION BY stream_id ORDER BY end_offset) AS step FROM registrations) s WHERE step <= 0"
    )
    with database.read() as tx:
        assert tx.execute(falls).scalar_one() == 0


@contextmanager
def _database() -> Iterator[Database]:
    with bench_postgres() as postgres:
        database = Database(DatabaseSettings(url=postgres.url, pool_size=NURSERIES))
        migrations.upgrade(database)
        with database.write() as tx:
            datasets.ensure_default(tx, "default")
        yield database
        database.close()
