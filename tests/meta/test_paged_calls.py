"""Calls over any number of streams or babies hold the heads of one page at a time."""

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import text

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import NotDrained
from meta.services.streams.ingest_token import IngestTokenServicer
from meta.store.deletion.lifetimes import LOCK_KEY
from meta.store.engine.pool import Transaction
from meta.store.streams import routing, stream_ends, tokens
from meta.store.streams.tokens import TokenRouting
from meta.store.versions import versions
from meta.v1 import ingest_token_pb2
from tests.support.meta.background import rounds_on
from tests.support.meta.catalog import CatalogDriver, Token
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.server import MetaServer

PAGE = routing.STREAMS_AT_ONCE


@pytest.fixture
def transactions(meta_server: MetaServer, meta_settings: Settings) -> Iterator[Transactions]:
    """Give transactions beside a server whose expiry rules are kept from running."""
    with psycopg.connect(meta_settings.database.url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", (LOCK_KEY,))
        yield Transactions(meta_server.running.database)


def execute(transactions: Transactions, statement: str, **values: object) -> None:
    transactions.write(lambda tx: tx.execute(text(statement), values))


def count(transactions: Transactions, statement: str, **values: object) -> int:
    query = text(f"SELECT count(*) FROM {statement}")  # noqa: S608
    return transactions.read(lambda tx: int(tx.execute(query, values).scalar_one()))


def add_streams(transactions: Transactions, token: Token, number: int) -> None:
    """Make streams that carry a token, as RegisterForStream would."""
    execute(
        transactions,
        """
        WITH made AS MATERIALIZED (
          SELECT gen_random_uuid() AS id, n FROM generate_series(1, :number) n),
        heads AS (INSERT INTO stream_heads (stream_id) SELECT id FROM made),
        carried AS (INSERT INTO stream_tokens (stream_id, token_id) SELECT id, :token FROM made)
        INSERT INTO ingest_streams (id, collector_id, collector_string, shard_hash)
        SELECT id, 'collector ' || n, '', n FROM made
        """,
        number=number,
        token=UUID(token.id),
    )


def followers(transactions: Transactions, dataset: str) -> int:
    return count(
        transactions,
        "stream_datasets e JOIN routing_periods p ON p.stream_id = e.stream_id"
        " AND p.logs_dataset_id = e.dataset_id WHERE e.dataset_id = :dataset",
        dataset=UUID(dataset),
    )


@pytest.fixture
def token(catalog: CatalogDriver) -> Token:
    return catalog.token(catalog.dataset("old"))


def half_route(transactions: Transactions, token: Token, dataset: str) -> None:
    """Do what a server does that is killed behind its first page."""

    def begin(tx: Transaction) -> None:
        wanted = TokenRouting(*[UUID(dataset)] * 3)
        tokens.get(tx, UUID(token.id), "FOR UPDATE")
        tokens.route(tx, UUID(token.id), wanted)
        routing.begin_change(tx, UUID(token.id))

    transactions.write(begin)
    assert transactions.write(lambda tx: routing.carry_on(tx, UUID(token.id)))


def test_a_routing_change_reaches_every_stream_a_page_at_a_time(
    transactions: Transactions, catalog: CatalogDriver, token: Token
) -> None:
    add_streams(transactions, token, 2 * PAGE + 1)
    new = catalog.dataset("new")
    before = transactions.read(versions.current)

    catalog.route(token, logs=new, traces=new, metrics=new)

    assert followers(transactions, new) == 2 * PAGE + 1
    # One for the token, one a page.
    assert transactions.read(versions.current) == before + 4


def test_a_repeated_routing_change_carries_an_unfinished_one_on(
    transactions: Transactions, catalog: CatalogDriver, token: Token
) -> None:
    add_streams(transactions, token, PAGE + 1)
    new = catalog.dataset("new")
    half_route(transactions, token, new)
    assert followers(transactions, new) == PAGE

    catalog.route(token, logs=new, traces=new, metrics=new)

    assert followers(transactions, new) == PAGE + 1


@pytest.mark.parametrize("age", ["30 s", "1 hour"])
def test_an_abandoned_routing_change_is_finished_by_a_server(
    transactions: Transactions, catalog: CatalogDriver, token: Token, age: str
) -> None:
    add_streams(transactions, token, 2 * PAGE + 1)
    new = catalog.dataset("new")
    half_route(transactions, token, new)
    execute(
        transactions,
        "UPDATE routing_changes SET changed_at = now() - cast(:age AS interval)",
        age=age,
    )

    rounds_on(transactions.database).finish_routing()

    assert followers(transactions, new) == (PAGE if age == "30 s" else 2 * PAGE + 1)


def test_a_call_leaves_the_streams_that_are_too_many_for_it_to_a_server(
    transactions: Transactions, meta_settings: Settings, catalog: CatalogDriver, token: Token
) -> None:
    add_streams(transactions, token, 2 * PAGE + 1)
    new = catalog.dataset("new")
    request = ingest_token_pb2.UpdateIngestTokenRoutingRequest(
        token_id=token.id,
        routing=ingest_token_pb2.IngestTokenRouting(
            logs_dataset_id=new, traces_dataset_id=new, metrics_dataset_id=new
        ),
    )
    servicer = IngestTokenServicer(transactions, meta_settings, routing_secs=0.0)

    assert servicer.UpdateIngestTokenRouting(request).is_continued
    assert followers(transactions, new) == PAGE
    # A repetition helps, and leaves the rest again.
    assert servicer.UpdateIngestTokenRouting(request).is_continued
    assert followers(transactions, new) == 2 * PAGE
    # Another server is at it, then none.
    with transactions.database.write() as tx:
        assert routing.carry_on_left(tx)
        assert not transactions.write(routing.carry_on_left)
    rounds_on(transactions.database).finish_routing()

    assert followers(transactions, new) == 2 * PAGE + 1
    assert not servicer.UpdateIngestTokenRouting(request).is_continued


def test_an_entry_stays_until_a_routing_change_has_reached_its_stream(
    transactions: Transactions,
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
) -> None:
    """Its unstamped babies go to the old dataset until then."""
    old, new = catalog.dataset("old"), catalog.dataset("new")
    token = catalog.token(old)
    stream = collector.register(token).stream_id
    wanted = TokenRouting(*[UUID(new)] * 3)

    def begin(tx: Transaction) -> None:
        tokens.route(tx, UUID(token.id), wanted)
        routing.begin_change(tx, UUID(token.id))

    transactions.write(begin)

    with pytest.raises(NotDrained):
        nursery.remove_entry(stream, old, -1)
    transactions.write(lambda tx: routing.carry_on(tx, UUID(token.id)))
    nursery.remove_entry(stream, old, -1)


def test_reaping_marks_any_number_of_babies_in_pages(
    transactions: Transactions,
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
) -> None:
    babies = 2 * stream_ends.REAPED_AT_ONCE + 500
    dataset = catalog.dataset("web")
    stream = collector.register(catalog.token(dataset)).stream_id
    execute(
        transactions,
        'INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes, num_records)'
        " SELECT :stream, n, 1, 2, 3, 4 FROM generate_series(0, :last) n",
        stream=UUID(stream),
        last=babies - 1,
    )
    execute(transactions, "UPDATE stream_heads SET committed_offset = :last", last=babies - 1)
    nursery.register(dataset, (stream, -1, babies - 1))
    first = transactions.write(lambda tx: stream_ends.reap(tx, UUID(stream), babies - 1, 0))
    assert first == stream_ends.REAPED_AT_ONCE - 1
    assert nursery.stream(stream).deleted_offset == -1

    nursery.reap(stream, babies - 1)

    assert nursery.stream(stream).deleted_offset == babies - 1
    assert count(transactions, "baby_segments WHERE reaped_at IS NULL") == 0
