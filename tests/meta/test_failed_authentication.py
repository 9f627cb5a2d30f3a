"""Unknown tokens are refused cheaply, and nobody else notices."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from threading import Semaphore
from typing import TypeVar

import grpc
import psycopg
import pytest

from meta.client import MetaClient, typed_error
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import Unauthenticated, Unavailable
from meta.roles import Role
from meta.rpc.access_token_cache import SNAPSHOT_SECS, WAITING_MAX, AccessTokens
from meta.store.access import token_secrets
from meta.store.access.token_secrets import Peppers, TokenHasher
from meta.store.engine.pool import Database, Transaction
from meta.v1 import catalog_pb2, operations_pb2
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.waiting import let_tasks_run, wait_until

LIST = catalog_pb2.ListDatasetsRequest()
GUESSES = 40
Result = TypeVar("Result")


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as running:
        yield running


class _CountedReads(Transactions):
    """Real transactions that count the reads."""

    reads = 0

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        self.reads += 1
        return super().read(work)


def _unknown() -> str:
    return token_secrets.new_plaintext(token_secrets.ACCESS_PREFIX)


def _is_taken(address: str, token: str) -> bool:
    with MetaClient(address, auth_token=token) as client:
        try:
            client.catalog.ListDatasets(LIST)
        except Unauthenticated:
            return False
    return True


def test_tokens_created_one_after_the_other_are_all_taken_at_once(guard: GuardedServer) -> None:
    for _ in range(5):
        assert _is_taken(guard.address, guard.token(Role.READER).plaintext_token)


def test_unknown_tokens_cost_few_queries_and_known_ones_none(
    guard: GuardedServer, meta_settings: Settings
) -> None:
    known = guard.token(Role.READER).plaintext_token
    transactions = _CountedReads(Database(meta_settings.database))
    tokens = AccessTokens(transactions, TokenHasher(Peppers()), clock=lambda: 5.0)

    async def show(plaintexts: Iterable[str]) -> list[object]:
        return await asyncio.gather(*map(tokens.find, plaintexts))

    async def run() -> None:
        assert all(await show([known] * 50))
        assert transactions.reads == 1
        guesses = [_unknown() for _ in range(WAITING_MAX)]
        assert not any(await show(guesses + guesses))
        # Those that were begun at once share one, and those that came while it ran the next.
        assert transactions.reads == 2
        assert all(await show([known] * 50))
        assert transactions.reads == 2

    try:
        asyncio.run(run())
    finally:
        transactions.database.close()


def test_a_new_token_is_found_among_guesses_and_beyond_their_bound_asked_to_come_back(
    guard: GuardedServer, meta_settings: Settings
) -> None:
    transactions = _CountedReads(Database(meta_settings.database))
    tokens = AccessTokens(transactions, TokenHasher(Peppers()), clock=lambda: 5.0)

    async def run() -> None:
        await tokens.find(_unknown())
        new = guard.token(Role.READER).plaintext_token
        guesses = [asyncio.create_task(tokens.find(_unknown())) for _ in range(WAITING_MAX - 1)]
        await let_tasks_run()

        found = asyncio.create_task(tokens.find(new))
        await let_tasks_run()
        with pytest.raises(Unavailable):
            await tokens.find(_unknown())

        assert await found
        assert not any(await asyncio.gather(*guesses))
        assert transactions.reads == 3

    try:
        asyncio.run(run())
    finally:
        transactions.database.close()


def test_a_caller_that_leaves_takes_the_lookup_of_nobody_with_it(
    guard: GuardedServer, meta_settings: Settings
) -> None:
    transactions = _CountedReads(Database(meta_settings.database))
    tokens = AccessTokens(transactions, TokenHasher(Peppers()), clock=lambda: 5.0)

    async def run() -> None:
        await tokens.find(_unknown())
        new = guard.token(Role.READER).plaintext_token
        leaving, staying = (asyncio.create_task(tokens.find(new)) for _ in range(2))
        await let_tasks_run()
        leaving.cancel()
        assert await staying

    try:
        asyncio.run(run())
    finally:
        transactions.database.close()


def test_a_token_that_was_shown_is_taken_without_its_hash_until_all_are_read_again(
    guard: GuardedServer, meta_settings: Settings
) -> None:
    token = guard.token(Role.READER)
    transactions, times = _CountedReads(Database(meta_settings.database)), [5.0]
    tokens = AccessTokens(transactions, TokenHasher(Peppers()), clock=lambda: times[-1])
    shown, plaintext = tokens.shown, token.plaintext_token

    async def run() -> None:
        assert shown(plaintext) == ()
        rights = await tokens.find(plaintext)
        assert shown(plaintext) is rights
        assert len(rights) == 1
        assert shown(_unknown()) == ()
        revoke = operations_pb2.RevokeAccessTokenRequest(token_id=token.token.id)
        guard.admin.operations.RevokeAccessToken(revoke)
        assert shown(plaintext) is rights

        times.append(5.0 + SNAPSHOT_SECS)

        assert shown(plaintext) == ()
        assert await tokens.find(plaintext) == ()
        assert shown(plaintext) == ()

    try:
        asyncio.run(run())
    finally:
        transactions.database.close()


def test_good_callers_are_answered_while_their_host_guesses(guard: GuardedServer) -> None:
    reader = guard.token(Role.READER).plaintext_token
    with MetaClient(guard.address, auth_token=reader) as good:
        good.catalog.ListDatasets(LIST)
        assert not any(_is_taken(guard.address, _unknown()) for _ in range(GUESSES))
        good.catalog.ListDatasets(LIST)

    # From the same host a new token is taken at once.
    assert _is_taken(guard.address, guard.token(Role.READER).plaintext_token)


def test_a_stream_ends_with_the_token_that_began_it(
    guard: GuardedServer, database_url: str
) -> None:
    permits = Semaphore(1)

    def pages() -> Iterator[operations_pb2.CheckConsistencyRequest]:
        for number in count():
            assert permits.acquire(timeout=60)
            key = f"dataset/{number:09}"
            yield operations_pb2.CheckConsistencyRequest(
                objects=[operations_pb2.ListedObject(object_key=key)]
            )

    with guard.client(Role.JANITOR) as client, psycopg.connect(database_url) as connection:
        replies = client.operations.CheckConsistency(pages())
        next(replies)
        connection.execute("UPDATE access_tokens SET revoked_at = now()")
        connection.commit()

        def is_ended() -> bool:
            permits.release()
            try:
                next(replies)
            except grpc.RpcError as error:
                return typed_error(error).reason == Unauthenticated.reason
            return False

        wait_until(is_ended, "the stream's end", seconds=20)
