"""Ingest tokens, and the collector's own token for meta, rotated while senders export."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import grpc
import pytest

from meta.config import Settings
from meta.roles import Role
from meta.rpc import access_token_cache
from meta.v1 import ingest_token_pb2
from meta.v1 import operations_pb2 as pb
from segments.store.open import open_store
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground, GroundToken
from tests.support.collector.http import PROTOBUF, post
from tests.support.collector.process import CollectorProcess, StartCollector, Stub, impatient
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.server import MetaServer
from tests.support.repeated_calls import RepeatedCalls
from tests.support.waiting import wait_until

# Looks at the file of the collector's token at every call, not every 5 s.
EAGER = "from meta.client import bearer_token; bearer_token.CHECK_SECS = 0.0"


@pytest.fixture
def guard(meta_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[GuardedServer]:
    """Run a meta that needs a credential and holds a revocation at once."""
    monkeypatch.setattr(access_token_cache, "SNAPSHOT_SECS", 0.0)
    with guarded(meta_settings) as running:
        yield running


@pytest.fixture
def ground(guard: GuardedServer, meta_settings: Settings, database_url: str) -> Ground:
    """Give the meta that needs a credential, with an empty object store."""
    store = open_store(meta_settings.location)
    store.probe()
    server = MetaServer(guard.address, guard.admin, meta_settings, guard.running)
    return Ground(server, database_url, store)


@dataclass
class Senders:
    """Export with the token that they have now; keep the ids of acknowledged records."""

    collector: CollectorProcess
    stub: Stub
    token: GroundToken
    acknowledged: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def over_grpc(self) -> None:
        """Export once; raises RpcError."""
        record_id = self._new_id()
        self.stub.export(self.token.token_secret, log_export(record_id))
        self.acknowledged.append(record_id)

    def over_http(self) -> None:
        """Export once over a new connection."""
        record_id = self._new_id()
        headers = {
            "Content-Type": PROTOBUF,
            "Authorization": f"Bearer {self.token.token_secret}",
        }
        answer = post(self.collector, log_export(record_id), headers)
        assert (answer.status, answer.body) == (200, b"")
        self.acknowledged.append(record_id)

    def are_refused_with(self, token: GroundToken) -> bool:
        """True once the collector takes no export of a token; what it takes counts."""
        record_id = self._new_id()
        try:
            self.stub.export(token.token_secret, log_export(record_id))
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.UNAUTHENTICATED:
                raise
            return True
        self.acknowledged.append(record_id)
        return False

    def _new_id(self) -> str:
        return f"record-{next(self._numbers)}"


@dataclass
class OwnToken:
    """The collector's token for meta, in a file."""

    guard: GuardedServer
    file: Path
    token_id: str = ""

    def renew(self) -> str:
        """Write a new token of the same subject; returns the id of the former one."""
        former, created = self.token_id, self.guard.token(Role.INGEST, "collector")
        self.file.write_text(created.plaintext_token)
        self.token_id = created.token.id
        return former

    def revoke(self, token_id: str) -> None:
        """Revoke an access token."""
        self.guard.admin.operations.RevokeAccessToken(
            pb.RevokeAccessTokenRequest(token_id=token_id)
        )


def test_rotated_tokens_fail_no_export_and_lose_no_record(
    guard: GuardedServer, ground: Ground, start_collector: StartCollector, tmp_path: Path
) -> None:
    own = OwnToken(guard, tmp_path / "token")
    own.renew()
    collector = start_collector(
        program=impatient(EAGER),
        COLLECTOR_META_AUTH_TOKEN_FILE=str(own.file),
    )
    with collector.stub() as stub:
        senders = Senders(collector, stub, ground.new_token())
        with RepeatedCalls(senders.over_grpc, senders.over_http) as exports:
            for _ in range(2):
                former, senders.token = senders.token, ground.new_token(senders.token)
                # Exports under way carry the former one, and both are valid.
                exports.go_on(2)
                ground.client.ingest_token.RevokeIngestToken(
                    ingest_token_pb2.RevokeIngestTokenRequest(token_id=former.token_id)
                )
                wait_until(
                    partial(senders.are_refused_with, former),
                    "the former ingest token's end",
                    seconds=20,
                )
                former_id = own.renew()
                exports.go_on(3)
                own.revoke(former_id)
                # Each waits for a commit, which meta takes with the new one alone.
                exports.go_on(3)

    assert collector.terminate() == 0
    assert ground.committed_ids() == sorted(senders.acknowledged)
