"""Every process follows the file of its token for meta."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from dataplane import meta_connection
from meta.client import bearer_token
from meta.config import Settings
from meta.errors import Unauthenticated
from meta.process.environment import Environment
from meta.roles import Role
from meta.rpc import access_token_cache
from meta.v1 import operations_pb2 as pb
from tests.support.meta.guarded import GuardedServer, guarded

PROCESSES = {
    "collector": ("collector.config", Role.INGEST),
    "nursery": ("nursery.config", Role.NURSERY),
    "merge_worker": ("merge_worker.config", Role.MERGE),
    "janitor": ("janitor.config", Role.JANITOR),
    "gateway": ("segplane.gateway.config", Role.GATEWAY),
}
STATE = pb.GetServerStateRequest()


@pytest.fixture
def guard(meta_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[GuardedServer]:
    monkeypatch.setattr(bearer_token, "CHECK_SECS", 0.0)
    monkeypatch.setattr(access_token_cache, "SNAPSHOT_SECS", 0.0)
    with guarded(meta_settings) as running:
        yield running


def test_every_process_calls_meta_with_the_token_that_its_file_has_now(
    guard: GuardedServer, tmp_path: Path
) -> None:
    for process, (module, role) in PROCESSES.items():
        prefix, file = f"{process.upper()}_", tmp_path / process
        first = guard.token(role, process)
        file.write_text(first.plaintext_token)
        values = {
            f"{prefix}META_ADDRESS": guard.address,
            f"{prefix}META_AUTH_TOKEN_FILE": str(file),
        }
        settings = import_module(module).load(Environment(prefix, values))

        with meta_connection.connect(settings) as meta:
            meta.operations.GetServerState(STATE)
            file.write_text(guard.token(role, process).plaintext_token)
            guard.admin.operations.RevokeAccessToken(
                pb.RevokeAccessTokenRequest(token_id=first.token.id)
            )
            meta.operations.GetServerState(STATE)
            file.write_text(first.plaintext_token)
            with pytest.raises(Unauthenticated):
                meta.operations.GetServerState(STATE)
