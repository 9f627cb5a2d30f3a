"""Unknown tokens are refused cheaply, and nobody else notices."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import count
from threading import Semaphore
from typing import TypeVar

import grpc
import psycopg
import pytest

from meta.access import Role
from meta.client import MetaClient, typed_error
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import Unauthenticated
from meta.process.failed_attempts import HOST_BURST
from meta.rpc.access_token_cache import SNAPSHOT_SECS, AccessTokens
from meta.store.access import token_secrets
from meta.store.access.token_secrets import Peppers, TokenHasher
from meta.store.engine.pool import Database, Transaction
from meta.v1 import catalog_pb2, operations_pb2
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.waiting import wait_until

LIST = catalog_pb2.ListDatasetsRequest()
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

    async def show(plaintext: str, times: int) -> list[object]:
        return [await tokens.find(plaintext, "10.0.0.1") for _ in range(times)]

    async def run() -> None:
        assert all(await show(known, 50))
        assert transactions.reads == 1
        assert not any(await show(_unknown(), 500))
        assert transactions.reads == 1 + int(HOST_BURST)
        assert all(await show(known, 50))
        assert transactions.reads == 1 + int(HOST_BURST)

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
        assert shown(plaintext) is None
        found = await tokens.find(plaintext, "10.0.0.1")
        assert shown(plaintext) is found is not None
        assert shown(_unknown()) is None
        revoke = operations_pb2.RevokeAccessTokenRequest(token_id=token.token.id)
        guard.admin.operations.RevokeAccessToken(revoke)
        assert shown(plaintext) is found

        times.append(5.0 + SNAPSHOT_SECS)

        assert shown(plaintext) is None
        assert await tokens.find(plaintext, "10.0.0.1") is None
        assert shown(plaintext) is None

    try:
        asyncio.run(run())
    finally:
        transactions.database.close()


def test_good_callers_are_answered_while_their_host_guesses(guard: GuardedServer) -> None:
    reader = guard.token(Role.READER).plaintext_token
    with MetaClient(guard.address, auth_token=reader) as good:
        good.catalog.ListDatasets(LIST)
        assert not any(_is_taken(guard.address, _unknown()) for _ in range(2 * int(HOST_BURST)))
        good.catalog.ListDatasets(LIST)

    # From the same host a new token is known with the next reading of all, at the latest.
    new = guard.token(Role.READER).plaintext_token
    wait_until(lambda: _is_taken(guard.address, new), "the new token", seconds=10)


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
