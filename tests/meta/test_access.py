"""Access tokens: every role against every RPC, ends of tokens, and who is noted."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import grpc
import psycopg
import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

from meta import access
from meta import roles as role_calls
from meta.client import MetaClient, bearer_token, typed_error
from meta.config import Settings
from meta.errors import InvalidArgument, QuotaExceeded, RoleRefused, Unauthenticated
from meta.roles import Role
from meta.rpc import access_token_cache
from meta.server import server
from meta.services.access.access_tokens import ACCESS_TOKENS_MAX
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.methods import METHODS
from tests.support.meta.server import MetaServer
from tests.support.repeated_calls import RepeatedCalls
from tests.support.waiting import wait_until

LIST_DATASETS = catalog_pb2.ListDatasetsRequest()
CREATE = pb.CreateAccessTokenRequest


@contextmanager
def _guarded(settings: Settings) -> Iterator[tuple[str, MetaClient]]:
    """A server that needs a credential: its address, and a client with META_AUTH_TOKEN."""
    running = server.start(replace(settings, auth_token="shared", requires_authentication=True))
    address = f"127.0.0.1:{running.port}"
    try:
        with MetaClient(address, auth_token="shared") as admin:
            yield address, admin
    finally:
        running.stop(1.0)


def _created(client: MetaClient, role: Role, **fields: Any) -> pb.CreateAccessTokenResponse:
    request = CREATE(subject=f"the {role.value}", role=role.value, **fields)
    return client.operations.CreateAccessToken(request)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("role", Role)
def test_a_role_may_make_the_calls_of_its_rows_and_no_other(
    meta_settings: Settings, role: Role
) -> None:
    allowed = {
        (service, rpc)
        for service, rpc, roles in role_calls.rows()
        if role is Role.ADMIN or role in roles
    }
    with _guarded(meta_settings) as (address, admin):
        token = _created(admin, role).plaintext_token
        refused = set()
        with grpc.insecure_channel(address) as channel:
            for method in METHODS:
                if _refusal(channel, method, token) == RoleRefused.reason:
                    refused.add((method.containing_service.name, method.name))

    assert refused == {(m.containing_service.name, m.name) for m in METHODS} - allowed


def _refusal(channel: grpc.Channel, method: MethodDescriptor, token: str) -> str:
    """The reason by which an empty request is refused, "" if it is answered."""
    path = f"/{method.containing_service.full_name}/{method.name}"
    empty = GetMessageClass(method.input_type)().SerializeToString()
    metadata = (("authorization", f"Bearer {token}"),)
    try:
        if method.client_streaming:
            both = channel.stream_stream(path, _as_is, _as_is)
            list(islice(both(iter([empty]), metadata=metadata, timeout=20), 1))
        elif method.server_streaming:
            one = channel.unary_stream(path, _as_is, _as_is)
            list(islice(one(empty, metadata=metadata, timeout=20), 1))
        else:
            channel.unary_unary(path, _as_is, _as_is)(empty, metadata=metadata, timeout=20)
    except grpc.RpcError as error:
        return typed_error(error).reason
    return ""


def _as_is(raw: bytes) -> bytes:
    return raw


def test_a_method_without_a_row_is_denied_to_all_but_admins() -> None:
    allowed = [role for role in Role if access.Principal("x", role).may_call("/meta.v1.X/New")]

    assert allowed == [Role.ADMIN]


@pytest.mark.long
def test_unknown_expired_and_revoked_tokens_are_refused_alike(
    meta_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_token_cache, "SNAPSHOT_SECS", 0.0)
    with _guarded(meta_settings) as (address, admin):
        revoked = _created(admin, Role.READER)
        expired = _created(admin, Role.READER, expires_secs=3)
        admin.operations.RevokeAccessToken(pb.RevokeAccessTokenRequest(token_id=revoked.token.id))
        assert not _is_refused(address, expired.plaintext_token)
        wait_until(lambda: _is_refused(address, expired.plaintext_token), "the token's expiry")
        unknown = revoked.plaintext_token[:-8] + "AAAAAAAA"
        messages = set()
        for plaintext in (revoked.plaintext_token, expired.plaintext_token, unknown, "", "other"):
            with (
                MetaClient(address, auth_token=plaintext) as client,
                pytest.raises(Unauthenticated) as refused,
            ):
                client.catalog.ListDatasets(LIST_DATASETS)
            messages.add(refused.value.message)

    assert len(messages) == 1


def test_a_revocation_holds_within_seconds_and_a_new_token_at_once(
    meta_settings: Settings,
) -> None:
    with _guarded(meta_settings) as (address, admin):
        token = _created(admin, Role.READER)
        plaintext = token.plaintext_token
        assert not _is_refused(address, plaintext)
        revoke = pb.RevokeAccessTokenRequest(token_id=token.token.id)
        once = admin.operations.RevokeAccessToken(revoke).token
        assert admin.operations.RevokeAccessToken(revoke).token == once
        wait_until(lambda: _is_refused(address, plaintext), "the token's end", seconds=10)


def test_a_default_server_needs_no_credential_but_takes_no_wrong_one(
    meta_server: MetaServer,
) -> None:
    assert meta_server.client.catalog.ListDatasets(LIST_DATASETS).items
    reader = _created(meta_server.client, Role.READER).plaintext_token
    with (
        MetaClient(meta_server.address, auth_token=reader) as client,
        pytest.raises(RoleRefused),
    ):
        client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="x"))
    with (
        MetaClient(meta_server.address, auth_token="segp_wrong") as client,
        pytest.raises(Unauthenticated),
    ):
        client.catalog.ListDatasets(LIST_DATASETS)


def test_the_audit_log_names_who_called(meta_settings: Settings) -> None:
    with _guarded(meta_settings) as (address, admin):
        keeper = _created(admin, Role.CATALOG)
        with MetaClient(address, auth_token=keeper.plaintext_token) as client:
            made = client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="x"))
            client.catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(id=made.id))
            with pytest.raises(RoleRefused):
                client.operations.ListAuditRecords(pb.ListAuditRecordsRequest())
        newest = admin.operations.ListAuditRecords(pb.ListAuditRecordsRequest()).records
        deleted = admin.operations.ListAuditRecords(
            pb.ListAuditRecordsRequest(rpc="DeleteDataset", principal="the catalog")
        ).records
        first = admin.operations.ListAuditRecords(pb.ListAuditRecordsRequest(limit=1)).records
        rest = admin.operations.ListAuditRecords(
            pb.ListAuditRecordsRequest(before_id=first[0].id)
        ).records

    assert [record.subject_id for record in deleted] == [made.id]
    assert newest[-1].principal == "META_AUTH_TOKEN"
    assert [*first, *rest] == list(newest)


def test_tokens_are_limited(meta_server: MetaServer, database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(
            """
            INSERT INTO access_tokens (id, subject, role, digest, hint)
            SELECT gen_random_uuid(), 's', 'reader', convert_to(n::text, 'UTF8'), ''
            FROM generate_series(2, %s) n
            """,
            [ACCESS_TOKENS_MAX],
        )
    last = _created(meta_server.client, Role.READER).token.id

    with pytest.raises(QuotaExceeded):
        _created(meta_server.client, Role.READER)

    meta_server.client.operations.RevokeAccessToken(pb.RevokeAccessTokenRequest(token_id=last))
    assert _created(meta_server.client, Role.READER).token.id != last


@pytest.mark.parametrize(
    "request_", [CREATE(role="reader"), CREATE(subject="x"), CREATE(subject="x", role="king")]
)
def test_a_malformed_token_is_refused(
    meta_server: MetaServer, request_: pb.CreateAccessTokenRequest
) -> None:
    with pytest.raises(InvalidArgument):
        meta_server.client.operations.CreateAccessToken(request_)
    for secs in (0, -1, 2**62):
        with pytest.raises(InvalidArgument, match="expires_secs"):
            _created(meta_server.client, Role.READER, expires_secs=secs)


def test_a_client_follows_the_token_in_its_file(
    meta_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bearer_token, "CHECK_SECS", 0.0)
    monkeypatch.setattr(access_token_cache, "SNAPSHOT_SECS", 0.0)
    file = tmp_path / "token"
    with _guarded(meta_settings) as (address, admin):
        first, second = (_created(admin, Role.READER) for _ in range(2))
        file.write_text(first.plaintext_token + "\n")
        with MetaClient(address, auth_token_file=str(file)) as client:
            client.catalog.ListDatasets(LIST_DATASETS)
            file.write_text("")
            client.catalog.ListDatasets(LIST_DATASETS)
            file.write_text(second.plaintext_token)
            client.catalog.ListDatasets(LIST_DATASETS)
            admin.operations.RevokeAccessToken(pb.RevokeAccessTokenRequest(token_id=first.token.id))
            wait_until(
                lambda: _is_refused(address, first.plaintext_token),
                "the first token's end",
                seconds=10,
            )
            client.catalog.ListDatasets(LIST_DATASETS)

    with pytest.raises(ValueError, match="cannot be read"):
        MetaClient(address, auth_token_file=str(tmp_path / "missing"))


def test_a_rotated_token_fails_no_call(
    meta_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bearer_token, "CHECK_SECS", 0.0)
    monkeypatch.setattr(access_token_cache, "SNAPSHOT_SECS", 0.0)
    file = tmp_path / "token"
    with _guarded(meta_settings) as (address, admin):
        token = _created(admin, Role.READER)
        file.write_text(token.plaintext_token)
        with (
            MetaClient(address, auth_token_file=str(file)) as client,
            RepeatedCalls(lambda: client.catalog.ListDatasets(LIST_DATASETS)) as calls,
        ):
            for _ in range(2):
                former, token = token, _created(admin, Role.READER)
                file.write_text(token.plaintext_token)
                # Calls under way may still carry the former one.
                calls.go_on()
                revoke = pb.RevokeAccessTokenRequest(token_id=former.token.id)
                admin.operations.RevokeAccessToken(revoke)
                assert _is_refused(address, former.plaintext_token)
                calls.go_on()


def _is_refused(address: str, token: str) -> bool:
    with MetaClient(address, auth_token=token) as client:
        try:
            client.catalog.ListDatasets(LIST_DATASETS)
        except Unauthenticated:
            return True
    return False


def test_a_long_role_is_refused_with_a_reason(meta_server: MetaServer) -> None:
    # Quoted in the refusal it would not fit into a status of gRPC.
    with pytest.raises(InvalidArgument, match="role"):
        meta_server.client.operations.CreateAccessToken(CREATE(subject="me", role="x" * 70_000))
