"""Every error as the status that callers get, and back as the class that our client raises."""

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from meta.client import MetaClient, typed_error
from meta.client.failures import BY_REASON, from_status
from meta.errors import (
    DOMAIN,
    Code,
    InvalidArgument,
    MetaError,
    Overloaded,
    Unavailable,
)
from meta.rpc import status
from meta.v1 import operations_pb2
from tests.support.meta.server import MetaServer


def status_of(error: MetaError) -> tuple[status_pb2.Status, dict[str, str | bytes]]:
    code, message, trailing = status.refusal(error, "request-1")
    headers = dict(trailing)
    packed = headers["grpc-status-details-bin"]
    assert isinstance(packed, bytes)
    parsed = status_pb2.Status.FromString(packed)
    assert (parsed.code, parsed.message) == (code.value[0], message)
    return parsed, headers


@pytest.mark.parametrize("error_class", BY_REASON.values(), ids=BY_REASON)
def test_a_refusal_carries_what_the_contract_promises(error_class: type[MetaError]) -> None:
    error = from_status(error_class.code.value, error_class.reason, "why", {"id": "7"}, "a.b")

    parsed, headers = status_of(error)

    info, request = error_details_pb2.ErrorInfo(), error_details_pb2.RequestInfo()
    assert parsed.details[0].Unpack(info)
    assert (info.reason, info.domain, dict(info.metadata)) == (error.reason, DOMAIN, {"id": "7"})
    assert parsed.details[1].Unpack(request)
    assert request.request_id == headers["x-request-id"] == "request-1"
    kinds = {detail.TypeName() for detail in parsed.details}
    assert ("google.rpc.BadRequest" in kinds) == isinstance(error, InvalidArgument)
    assert ("google.rpc.RetryInfo" in kinds) == isinstance(error, Overloaded | Unavailable)
    pushback = headers.get("grpc-retry-pushback-ms")
    if error.code is Code.RESOURCE_EXHAUSTED:
        assert pushback == ("1000" if isinstance(error, Overloaded) else "-1")
    else:
        assert pushback is None


def test_a_fault_of_the_server_tells_nothing_but_the_request_id() -> None:
    error = status.as_meta_error(ZeroDivisionError("secret"), "request-1")

    parsed, _ = status_of(error)

    assert parsed.code == Code.INTERNAL.value
    assert "secret" not in parsed.message
    assert "request-1" in parsed.message


@pytest.mark.parametrize("method", ["/meta.v1.CatalogService/Nothing", "/elsewhere/Nothing"])
def test_a_call_that_the_server_does_not_have_is_refused_with_a_reason(
    meta_server: MetaServer, method: str
) -> None:
    with grpc.insecure_channel(meta_server.address) as channel:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)
        with pytest.raises(grpc.RpcError) as no:
            call(b"", timeout=10)

    assert no.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert typed_error(no.value).reason == "UNIMPLEMENTED"
    info = error_details_pb2.ErrorInfo()
    assert status_pb2.Status.FromString(details_of(no.value)).details[0].Unpack(info)


def details_of(error: grpc.RpcError) -> bytes:
    trailing = {pair.key: pair.value for pair in error.trailing_metadata()}
    packed = trailing["grpc-status-details-bin"]
    assert isinstance(packed, bytes)
    return packed


@pytest.mark.parametrize("character", ["x", "ä", "\U0001f600"])
def test_a_refusal_that_repeats_a_long_value_reaches_the_caller(
    meta_client: MetaClient, character: str
) -> None:
    request = operations_pb2.SetWorkerSettingsRequest(name="w", removed=[70_000 * character])

    with pytest.raises(InvalidArgument, match="removed names no setting") as refused:
        meta_client.operations.SetWorkerSettings(request)

    assert refused.value.field == "removed"
    assert (
        status.MESSAGE_BYTES_MAX - 6
        < len(refused.value.message.encode())
        <= status.MESSAGE_BYTES_MAX
    )
