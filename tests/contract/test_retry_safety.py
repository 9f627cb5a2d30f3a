"""I17: repeating any mutating RPC after an unknown outcome leaves the state of one call."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.message import Message
from sqlalchemy import DateTime, Table

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import MetaError
from meta.server import server
from meta.store.tables import metadata
from tests.support.meta.all_rpcs import Watched, live
from tests.support.meta.methods import METHODS
from tests.support.meta.server import MetaServer

# The two exceptions of the contract: a secret that is shown once, a claim that its lease returns.
NOT_REPEATABLE = {"CreateAccessToken", "CreateIngestToken", "PollForSegmentMergeTask"}
# Its columns are there already: refused, with the state untouched.
REFUSED_AGAIN = {"UpdateSchema"}

MUTATING = {
    method.name
    for method in METHODS
    if not method.name.startswith(("Get", "List", "Find", "Locate", "Explain", "Check", "Watch"))
} - {"DownloadConfig", "PlanDeletion", "PreviewRetention", "ValidateIngestToken"}


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A deletion grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes)


def state(meta_server: MetaServer) -> dict[str, list[str]]:
    """Every row of every table, but for times and the log of who called what."""
    with meta_server.running.database.read() as tx:
        return {str(name): list(rows) for name, rows in tx.exec_driver_sql(STATE)}


def _rows(table: Table) -> str:
    columns = ", ".join(f'"{c.name}"' for c in table.columns if not isinstance(c.type, DateTime))
    return f"SELECT '{table.name}', ARRAY(SELECT ROW({columns})::text FROM {table.name} ORDER BY 1)"  # noqa: S608


# One statement for all tables: it runs three times for each RPC.
STATE = " UNION ALL ".join(
    _rows(table) for table in metadata.sorted_tables if table.name != "audit_log"
)


@pytest.fixture
def another(meta_server: MetaServer) -> Iterator[MetaClient]:
    """A client of another server over the same database."""
    other = server.start(replace(meta_server.settings, bind="127.0.0.1:0"))
    with MetaClient(f"127.0.0.1:{other.port}") as client:
        yield client
    other.stop(0)


def send_to(client: MetaClient, method: str, request: Message) -> Any:
    stubs = [getattr(client, name) for name in MetaClient.__annotations__]
    (send,) = (getattr(stub, method) for stub in stubs if hasattr(stub, method))
    return send(request)


def test_every_mutating_rpc_may_be_repeated(meta_server: MetaServer, another: MetaClient) -> None:
    """At the same server, and then at another one."""
    repeated: set[str] = set()

    def thrice(method: str, send: Any, request: Message) -> Any:
        reply = send(request)
        if method in NOT_REPEATABLE:
            return reply
        once = state(meta_server)
        for client in (meta_server.client, another):
            if method in REFUSED_AGAIN:
                with pytest.raises(MetaError):
                    send_to(client, method, request)
            else:
                assert type(send_to(client, method, request)) is type(reply)
            after = state(meta_server)
            changed = {name for name, rows in after.items() if rows != once[name]}
            assert not changed, (method, changed)
        repeated.add(method)
        return reply

    live(Watched(meta_server.client, thrice))

    assert not MUTATING - NOT_REPEATABLE - repeated
