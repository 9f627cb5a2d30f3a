"""A stream is written by the principal whose collector registered it, and by no other."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import event

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import NotFound, RoleRefused
from meta.roles import Role
from meta.v1 import nursery_pb2, operations_pb2
from tests.support.meta.catalog import CatalogDriver, Token
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.server import MetaServer

NAME = "collector-1"
UNKNOWN = "01890000-0000-7000-8000-000000000000"


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as running:
        yield running


@pytest.fixture
def token(guard: GuardedServer) -> Token:
    driver = CatalogDriver(guard.admin)
    return driver.token(driver.dataset())


def _stop(client: MetaClient, stream_id: str) -> None:
    client.nursery.MarkStreamStopped(
        nursery_pb2.MarkStreamStoppedRequest(
            stream_id=stream_id, final_offset=-1, reason=nursery_pb2.STOP_REASON_CLIENT
        )
    )


def _flushes(client: MetaClient, stream_id: str) -> None:
    client.operations.GetCommittedFlushes(
        operations_pb2.GetCommittedFlushesRequest(stream_id=stream_id, last_offset=1)
    )


def test_a_collectors_name_gives_nobody_anothers_stream(guard: GuardedServer, token: Token) -> None:
    with guard.client(Role.INGEST, "eu") as eu, guard.client(Role.INGEST, "us") as us:
        mine = IngestionDriver(eu, NAME).register(token).stream_id
        others = IngestionDriver(us, NAME).register(token)
        again = IngestionDriver(eu, NAME).register(token)
        shared = IngestionDriver(guard.admin, NAME).register(token).stream_id

    assert others.created
    assert again.stream_id == mine
    assert len({mine, others.stream_id, shared}) == 3
    streams = {s.stream_id: s for s in NurseryDriver(guard.admin).poll().streams}
    assert {s.collector_id for s in streams.values()} == {NAME}
    assert [streams[i].principal for i in (mine, others.stream_id, shared)] == ["eu", "us", ""]


def test_a_stream_is_written_by_its_principal_alone(guard: GuardedServer, token: Token) -> None:
    with guard.client(Role.INGEST, "eu") as eu, guard.client(Role.INGEST, "us") as us:
        stream_id = IngestionDriver(eu, NAME).register(token).stream_id
        thief = IngestionDriver(us, NAME)
        for call in (
            lambda: thief.commit(stream_id, 0),
            lambda: _stop(us, stream_id),
            lambda: _flushes(us, stream_id),
        ):
            with pytest.raises(RoleRefused, match="another principal"):
                call()
        assert IngestionDriver(eu, NAME).commit(stream_id, 0).committed_offset == 0
        with pytest.raises(RoleRefused):
            thief.commit(stream_id, 1)
        with guard.client(Role.INGEST, "eu") as rotated:
            assert IngestionDriver(rotated, NAME).commit(stream_id, 1).committed_offset == 1
            _flushes(rotated, stream_id)


def test_a_nursery_adopts_and_ends_any_stream(guard: GuardedServer, token: Token) -> None:
    with guard.client(Role.INGEST, "eu") as eu, guard.client(Role.NURSERY) as nursery:
        committed = IngestionDriver(eu, NAME).register(token).stream_id
        assert IngestionDriver(nursery, NAME).commit(committed, 0).committed_offset == 0
        ended = IngestionDriver(eu, "collector-2").register(token).stream_id
        _stop(nursery, ended)


def test_an_unknown_stream_is_not_found_for_every_role(guard: GuardedServer) -> None:
    for role in (Role.INGEST, Role.NURSERY):
        with guard.client(role) as client:
            with pytest.raises(NotFound, match="no such stream"):
                IngestionDriver(client, NAME).commit(UNKNOWN, 0)
            with pytest.raises(NotFound, match="no such stream"):
                _stop(client, UNKNOWN)


def test_a_stream_without_an_owner_goes_on_with_its_own_token(
    guard: GuardedServer, token: Token
) -> None:
    stream_id = IngestionDriver(guard.admin, NAME).register(token).stream_id

    with guard.client(Role.INGEST, "eu") as eu:
        assert IngestionDriver(eu, NAME).commit(stream_id, 0).committed_offset == 0
        assert IngestionDriver(eu, NAME).register(token).stream_id != stream_id


def test_a_default_server_keeps_one_stream_for_a_name(
    meta_server: MetaServer, catalog: CatalogDriver
) -> None:
    token = catalog.token(catalog.dataset())
    with MetaClient(meta_server.address) as other:
        first = IngestionDriver(meta_server.client, NAME).register(token).stream_id
        assert IngestionDriver(other, NAME).register(token).stream_id == first
        assert IngestionDriver(other, NAME).commit(first, 0).committed_offset == 0


def test_who_registered_a_stream_commits_to_it_without_a_query_for_its_owner(
    guard: GuardedServer, token: Token
) -> None:
    asked = list[str]()

    def note(_connection: Any, _cursor: Any, statement: str, *_: object) -> None:
        if statement.startswith("SELECT principal FROM ingest_streams"):
            asked.append(statement)

    engine = guard.running.database.engine
    with guard.client(Role.INGEST, "eu") as eu, guard.client(Role.INGEST, "us") as us:
        stream_id = IngestionDriver(eu, NAME).register(token).stream_id
        event.listen(engine, "before_cursor_execute", note)
        try:
            assert IngestionDriver(eu, NAME).commit(stream_id, 0).committed_offset == 0
            by_owner = len(asked)
            with pytest.raises(RoleRefused):
                IngestionDriver(us, NAME).commit(stream_id, 1)
        finally:
            event.remove(engine, "before_cursor_execute", note)

    assert (by_owner, len(asked)) == (0, 1)
