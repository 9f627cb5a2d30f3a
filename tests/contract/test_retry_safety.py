"""I17: repeating any mutating RPC after an unknown outcome leaves the state of one call."""

from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.message import Message
from sqlalchemy import DateTime, select

from meta.config import Settings
from meta.errors import MetaError
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
} - {"DownloadConfig", "ValidateIngestToken"}


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A deletion grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes)


def state(meta_server: MetaServer) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, but for times and the log of who called what."""
    found = {}
    with meta_server.running.database.read() as tx:
        for table in metadata.sorted_tables:
            if table.name == "audit_log":
                continue
            columns = [c for c in table.columns if not isinstance(c.type, DateTime)]
            rows = tx.execute(select(*columns)).all()
            found[table.name] = sorted((tuple(row) for row in rows), key=repr)
    return found


def test_every_mutating_rpc_may_be_repeated(meta_server: MetaServer) -> None:
    repeated: set[str] = set()

    def twice(method: str, send: Any, request: Message) -> Any:
        reply = send(request)
        if method in NOT_REPEATABLE:
            return reply
        once = state(meta_server)
        if method in REFUSED_AGAIN:
            with pytest.raises(MetaError):
                send(request)
        else:
            assert type(send(request)) is type(reply)
        after = state(meta_server)
        changed = {name for name, rows in after.items() if rows != once[name]}
        assert not changed, (method, changed)
        repeated.add(method)
        return reply

    live(Watched(meta_server.client, twice))

    assert not MUTATING - NOT_REPEATABLE - repeated
