"""Unknown, revoked and expired tokens are refused with equal answers, for equal work."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import grpc
import pytest
from sqlalchemy import event

from meta.client import MetaClient
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import MetaError, TokenUnknown, Unauthenticated
from meta.roles import Role
from meta.rpc.access_token_cache import AccessTokens
from meta.store.access import token_secrets
from meta.store.access.token_secrets import Peppers, TokenHasher
from meta.store.engine.pool import Database
from meta.v1 import catalog_pb2, ingest_token_pb2, ingestion_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, ended_access_tokens, guarded
from tests.support.meta.server import MetaServer


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as running:
        yield running


def answer_of(error: MetaError) -> tuple[Any, ...]:
    """All that a refusal tells, but for the id of its call."""
    metadata = {key: value for key, value in error.metadata.items() if key != "request_id"}
    return type(error), error.code, error.reason, error.message, metadata


def statements_of(database: Database, work: Callable[[], object]) -> list[str]:
    """The SQL statements that a call runs."""
    seen = list[str]()

    def note(_connection: Any, _cursor: Any, statement: str, *_: object) -> None:
        seen.append(statement)

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        work()
    finally:
        event.remove(database.engine, "before_cursor_execute", note)
    return seen


def test_meta_refuses_unknown_revoked_and_expired_access_tokens_alike(
    guard: GuardedServer, database_url: str
) -> None:
    answers = dict[str, tuple[Any, ...]]()
    trailers = dict[str, list[str]]()
    for kind, token in ended_access_tokens(guard, database_url).items():
        with (
            MetaClient(guard.address, auth_token=token) as client,
            pytest.raises(Unauthenticated) as refused,
        ):
            client.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest())
        answers[kind] = answer_of(refused.value)
        with grpc.insecure_channel(guard.address) as channel, pytest.raises(grpc.RpcError) as raw:
            _list_datasets(channel, token)
        error: Any = raw.value
        trailers[kind] = sorted(key for key, _ in error.trailing_metadata())

    assert answers["unknown"] == answers["revoked"] == answers["expired"]
    assert trailers["unknown"] == trailers["revoked"] == trailers["expired"]


def test_meta_works_no_more_for_one_kind_of_refused_access_token(
    guard: GuardedServer, database_url: str, meta_settings: Settings
) -> None:
    tokens = ended_access_tokens(guard, database_url)
    known = guard.token(Role.READER).plaintext_token
    database = Database(meta_settings.database)
    cache = AccessTokens(Transactions(database), TokenHasher(Peppers()), clock=lambda: 5.0)

    def find(token: str) -> object:
        return asyncio.run(cache.find(token))

    try:
        # The valid tokens are read first, once.
        assert find(known) is not None
        work = {
            kind: statements_of(database, partial(find, token)) for kind, token in tokens.items()
        }
    finally:
        database.close()

    assert work["unknown"] == work["revoked"] == work["expired"]
    assert sum("FROM access_tokens" in statement for statement in work["unknown"]) == 1


def test_meta_refuses_unknown_and_revoked_ingest_tokens_alike(
    meta_server: MetaServer, catalog: CatalogDriver
) -> None:
    """Ingest tokens do not expire."""
    client, token = meta_server.client, catalog.token(catalog.dataset("web"))
    revoke = ingest_token_pb2.RevokeIngestTokenRequest(token_id=token.id)
    client.ingest_token.RevokeIngestToken(revoke)
    unknown = token_secrets.new_plaintext()

    def refusal(call: Callable[[], object]) -> tuple[tuple[Any, ...], list[str]]:
        refused = list[MetaError]()

        def work() -> None:
            with pytest.raises(TokenUnknown) as error:
                call()
            refused.append(error.value)

        statements = statements_of(meta_server.running.database, work)
        return answer_of(refused[0]), [s for s in statements if "ingest_tokens" in s]

    def validate(plaintext: str) -> object:
        request = ingest_token_pb2.ValidateIngestTokenRequest(plaintext_token=plaintext)
        return client.ingest_token.ValidateIngestToken(request)

    def register(plaintext: str) -> object:
        request = ingestion_pb2.RegisterForStreamRequest(collector_id="c", ingest_token=plaintext)
        return client.ingestion.RegisterForStream(request)

    shown = (unknown, token.plaintext)
    validations = [refusal(partial(validate, plaintext)) for plaintext in shown]
    registrations = [refusal(partial(register, plaintext))[0] for plaintext in shown]

    assert validations[0] == validations[1]
    assert len(validations[0][1]) == 1
    assert registrations[0] == registrations[1]


def with_a_broken_checksum(token: str) -> str:
    return token[:-1] + ("A" if token[-1] != "A" else "B")


def test_a_broken_checksum_is_refused_before_any_lookup_and_as_an_unknown_token_is(
    meta_settings: Settings,
) -> None:
    with guarded(meta_settings) as guard:
        unknown = token_secrets.new_plaintext(token_secrets.ACCESS_PREFIX)
        of_ingest = token_secrets.new_plaintext()
        # Tokens that are known are read by the first call.
        with guard.client(Role.INGEST) as collector:
            database = guard.running.database

            def list_datasets(token: str) -> tuple[tuple[Any, ...], list[str]]:
                with MetaClient(guard.address, auth_token=token) as client:
                    return refusal_of(
                        database,
                        lambda: client.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest()),
                        "access_tokens",
                    )

            def validate(token: str) -> tuple[tuple[Any, ...], list[str]]:
                request = ingest_token_pb2.ValidateIngestTokenRequest(plaintext_token=token)
                return refusal_of(
                    database,
                    lambda: collector.ingest_token.ValidateIngestToken(request),
                    "ingest_tokens",
                )

            validate(of_ingest)
            for ask, token in ((list_datasets, unknown), (validate, of_ingest)):
                answer, statements = ask(token)
                broken_answer, broken_statements = ask(with_a_broken_checksum(token))

                assert broken_answer == answer
                assert len(statements) >= 1
                assert broken_statements == []


def refusal_of(
    database: Database, call: Callable[[], object], table: str
) -> tuple[tuple[Any, ...], list[str]]:
    """The answer of a refused call, and its statements about a table by a token's digest."""
    refused = list[MetaError]()

    def work() -> None:
        with pytest.raises(MetaError) as error:
            call()
        refused.append(error.value)

    statements = statements_of(database, work)
    return answer_of(refused[0]), [s for s in statements if table in s and "digest" in s]


def _list_datasets(channel: grpc.Channel, token: str) -> None:
    """List the datasets with a token, without our client."""
    call: Any = channel.unary_unary("/meta.v1.CatalogService/ListDatasets")
    call(b"", metadata=(("authorization", f"Bearer {token}"),), timeout=20)
