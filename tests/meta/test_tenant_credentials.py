"""Credentials of tenants: the tenant of a call, subjects, tokens, suspension, certificates."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from meta.access import DEFAULT, CallerTenant, Principal
from meta.client import MetaClient
from meta.config import Settings
from meta.errors import (
    InvalidArgument,
    MetaError,
    NotFound,
    RoleRefused,
    TenantSuspended,
    Unauthenticated,
)
from meta.roles import TENANT_ROLES, Role
from meta.rpc import caller_rights
from meta.rpc.caller_rights import right
from meta.v1 import catalog_pb2, ingest_token_pb2, janitor_pb2
from meta.v1 import operations_pb2 as pb
from segments.ids import new_uuid7
from tests.support.meta.guarded import GuardedServer
from tests.support.meta.tenants import (
    TenantDriver,
    TwoTenants,
    guarded_for_tenants,
    new_token,
    operator_in,
    two_tenants,
)
from tests.support.waiting import wait_until

LIST = catalog_pb2.ListDatasetsRequest()
STATE = pb.GetServerStateRequest()
PAYMENTS = CallerTenant(1, new_uuid7(), "payments")
SEARCH = CallerTenant(2, new_uuid7(), "search")


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded_for_tenants(meta_settings) as running:
        yield running


def _tokens(client: MetaClient) -> dict[str, str]:
    """Subjects of the tokens that a caller sees, each with the token's tenant."""
    listed = client.operations.ListAccessTokens(pb.ListAccessTokensRequest()).tokens
    return {token.subject: token.tenant for token in listed}


def _caller(client: MetaClient) -> pb.Caller:
    return client.operations.GetServerState(STATE).caller


@pytest.fixture
def scene(guard: GuardedServer) -> Iterator[TwoTenants]:
    with two_tenants(guard) as tenants:
        yield tenants


def test_a_call_is_made_in_the_tenant_that_it_names() -> None:
    operator = right("ann", Role.ADMIN)
    reader, keeper = right("ann", Role.READER, PAYMENTS), right("ann", Role.CATALOG, SEARCH)

    assert caller_rights.chosen((reader,), "") is reader
    assert caller_rights.chosen((reader, keeper), "search") is keeper
    assert caller_rights.chosen((keeper, operator), "") is operator
    assert caller_rights.chosen((keeper, operator), "search") is keeper
    limited = caller_rights.within(caller_rights.chosen((keeper, operator), "payments"), PAYMENTS)
    assert (limited.role, limited.scope.tenant_key) == (Role.ADMIN, PAYMENTS.key)
    with pytest.raises(InvalidArgument) as several:
        caller_rights.chosen((reader, keeper), "")
    assert "payments" not in several.value.message
    suspended = right("ann", Role.READER, replace(PAYMENTS, is_suspended=True))
    with pytest.raises(TenantSuspended):
        caller_rights.chosen((suspended,), "")


def test_subjects_of_tenants_are_apart_from_each_other_and_from_operators() -> None:
    subjects = [right("ann", Role.READER, tenant).subject for tenant in (DEFAULT, PAYMENTS, SEARCH)]

    assert subjects == ["ann", f"//{PAYMENTS.id}/ann", f"//{SEARCH.id}/ann"]
    assert right("ann", Role.ADMIN) == Principal("ann", Role.ADMIN)


def test_missing_tenants_and_those_of_others_are_refused_alike(
    scene: TwoTenants,
) -> None:
    plaintext = new_token(scene.payments, Role.READER).plaintext_token
    refusals = set()
    for tenant in ("search", "nobody", "default", "x" * 300):
        with (
            MetaClient(scene.guard.address, auth_token=plaintext, tenant=tenant) as client,
            pytest.raises(RoleRefused) as refused,
        ):
            client.catalog.ListDatasets(LIST)
        refusals.add(refused.value.message)
    with MetaClient(scene.guard.address, auth_token=plaintext, tenant="payments") as client:
        assert _caller(client).tenant == "payments"
    with operator_in(scene.guard, "nobody") as operator, pytest.raises(RoleRefused) as refused:
        operator.catalog.ListDatasets(LIST)

    assert refusals == {refused.value.message}


def test_each_tenant_sees_its_tokens_and_ends_no_other(scene: TwoTenants) -> None:
    made = new_token(scene.payments, Role.TENANT_INGEST)
    other = new_token(scene.search, Role.READER)
    nursery = scene.guard.token(Role.NURSERY)

    assert _tokens(scene.payments) == {"boss": "payments", "ann": "payments"}
    assert _tokens(scene.search) == {"boss": "search", "ann": "search"}
    everybody = _tokens(scene.guard.admin)
    assert everybody["the nursery"] == ""
    assert sum(tenant == "search" for tenant in everybody.values()) == 2
    with operator_in(scene.guard, "search") as operator:
        assert len(_tokens(operator)) == 2
    unknown = _revocation(scene.payments, str(new_uuid7()))
    for token in (other, nursery):
        assert _revocation(scene.payments, token.token.id) == unknown
    scene.payments.operations.RevokeAccessToken(pb.RevokeAccessTokenRequest(token_id=made.token.id))


def _revocation(client: MetaClient, token_id: str) -> str:
    with pytest.raises(NotFound) as refused:
        client.operations.RevokeAccessToken(pb.RevokeAccessTokenRequest(token_id=token_id))
    return refused.value.message


def test_an_administrator_of_default_does_not_see_or_end_an_operators_token(
    guard: GuardedServer,
) -> None:
    operators = guard.token(Role.NURSERY).token
    with guard.client(Role.TENANT_ADMIN, "boss") as boss:
        made = new_token(boss, Role.READER, "the nursery")

        assert _tokens(boss) == {"boss": "default", "the nursery": "default"}
        assert _revocation(boss, operators.id)
        # It has not taken the subject of the operator's token.
        with MetaClient(guard.address, auth_token=made.plaintext_token) as reader:
            assert _caller(reader).subject == "the nursery"
    assert f"//{DEFAULT.id}/the nursery" in _tokens(guard.admin)


@pytest.mark.parametrize("role", Role)
def test_an_administrator_gives_roles_of_tenants_alone(scene: TwoTenants, role: Role) -> None:
    with operator_in(scene.guard, "payments") as operator:
        for client in (scene.payments, operator):
            if role in TENANT_ROLES:
                assert new_token(client, role).token.tenant == "payments"
            else:
                with pytest.raises(InvalidArgument, match="not one of reader"):
                    new_token(client, role)


def test_a_subject_cannot_be_that_of_a_tenant(scene: TwoTenants) -> None:
    for client in (scene.guard.admin, scene.payments):
        with pytest.raises(InvalidArgument, match="//"):
            new_token(client, Role.READER, "//x/ann")


def test_a_name_is_looked_up_in_the_callers_tenant(scene: TwoTenants) -> None:
    for client in (scene.payments, scene.search, scene.guard.admin):
        client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="web"))
    ids = {
        client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name="web")).id
        for client in (scene.payments, scene.search, scene.guard.admin)
    }
    with operator_in(scene.guard, "payments") as operator:
        named = operator.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name="web")).id

    assert len(ids) == 3
    assert named == scene.payments.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name="web")).id


def test_people_of_a_tenant_are_named_as_in_their_tenant(scene: TwoTenants) -> None:
    plaintext = new_token(scene.payments, Role.CATALOG).plaintext_token
    with MetaClient(scene.guard.address, auth_token=plaintext) as ann:
        ann.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="web"))
    request = pb.ListAuditRecordsRequest(principal="ann")
    (record,) = scene.payments.operations.ListAuditRecords(request).records
    web = scene.payments.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name="web"))

    assert record.principal == web.authors.created_by == "ann"
    assert not scene.search.operations.ListAuditRecords(request).records
    (seen,) = scene.guard.admin.operations.ListAuditRecords(
        pb.ListAuditRecordsRequest(rpc="CreateDataset")
    ).records
    assert seen.principal.startswith("//")
    assert seen.principal.endswith("/ann")


def test_a_suspended_tenant_is_refused_within_seconds_and_back_when_it_is_resumed(
    scene: TwoTenants,
) -> None:
    drivers = TenantDriver(scene.guard.admin)
    assert scene.payments.catalog.ListDatasets(LIST) is not None
    drivers.suspend("payments")

    wait_until(lambda: _refusal(scene.payments) is TenantSuspended, "suspension", seconds=10)
    assert _refusal(scene.search) is None
    with operator_in(scene.guard, "payments") as operator:
        # Operators look after it.
        assert _refusal(operator) is None
    drivers.resume("payments")
    wait_until(lambda: _refusal(scene.payments) is None, "its end", seconds=10)
    drivers.delete("payments")
    wait_until(lambda: _refusal(scene.payments) is Unauthenticated, "deletion", seconds=10)


def _refusal(client: MetaClient) -> type[MetaError] | None:
    try:
        client.catalog.ListDatasets(LIST)
    except MetaError as error:
        return type(error)
    return None


def test_a_call_that_is_not_safe_is_refused_as_soon_as_there_is_a_second_tenant(
    guard: GuardedServer,
) -> None:
    losses = pb.ListLossesRequest()
    with guard.client(Role.READER) as reader, operator_in(guard, "default") as operator:
        for client in (reader, operator):
            client.operations.ListLosses(losses)
        TenantDriver(guard.admin).create("payments")
        for client in (reader, operator):
            with pytest.raises(RoleRefused):
                client.operations.ListLosses(losses)
            client.catalog.ListDatasets(LIST)
        # Operators who name no tenant go on.
        guard.admin.operations.ListLosses(losses)
    with operator_in(guard, "payments") as operator, pytest.raises(RoleRefused, match="no single"):
        operator.operations.ListLosses(losses)


def test_roles_of_a_tenant_have_their_calls(scene: TwoTenants) -> None:
    scene.payments.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="web"))
    create = ingest_token_pb2.CreateIngestTokenRequest(name="t", dataset_name="web")
    for role in (Role.TENANT_INGEST, Role.TENANT_READER):
        plaintext = new_token(scene.payments, role).plaintext_token
        with MetaClient(scene.guard.address, auth_token=plaintext) as client:
            if role is Role.TENANT_INGEST:
                client.ingest_token.CreateIngestToken(create)
            else:
                with pytest.raises(RoleRefused):
                    client.ingest_token.CreateIngestToken(create)
                client.janitor.GetJanitorStats(janitor_pb2.GetJanitorStatsRequest())
            listed = client.ingest_token.ListIngestTokens(
                ingest_token_pb2.ListIngestTokensRequest()
            )
            assert [token.name for token in listed.tokens] == ["t"]
            with pytest.raises(RoleRefused):
                client.catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(name="web"))
