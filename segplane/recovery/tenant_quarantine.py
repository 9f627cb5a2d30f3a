"""The quarantine of a tenant, through a gateway: its callers have no key of the bucket."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from meta.client import MetaClient
from meta.v1 import operations_pb2
from segments.inventory.quarantine import Quarantined, QuarantinePage
from segplane.read import gateway
from segplane.read.bounds import moment_nanos

_ROLES = ("tenant-admin", "tenant-reader", "tenant-ingest")


def is_of_tenant(client: MetaClient) -> bool:
    """Return whether the caller sees the payloads of a tenant alone."""
    state = client.operations.GetServerState(operations_pb2.GetServerStateRequest())
    return state.caller.role in _ROLES


def list_page(
    client: MetaClient, filters: Mapping[str, str], after: str, limit: int
) -> QuarantinePage:
    """List payloads of the tenant. Raises GatewayRefused."""
    # A page of the gateway may have fewer than are wanted.
    parameters = {**filters, "after": after, "limit": str(min(limit, 1_000))}
    query = urlencode({name: text for name, text in parameters.items() if text})
    page = gateway.asked(client, "GET", f"/v1/quarantine?{query}")
    return QuarantinePage([_payload(item) for item in page["items"]], page["next"] or "")


def find(client: MetaClient, key: str) -> Quarantined:
    """Read the note of one payload. Raises GatewayRefused."""
    return _payload(gateway.asked(client, "GET", _path(key)))


def replay(client: MetaClient, key: str, body: Mapping[str, object]) -> dict[str, Any]:
    """Have a payload replayed. Raises GatewayRefused."""
    return gateway.asked(client, "POST", f"{_path(key)}/replay", body)


def discard(client: MetaClient, key: str, body: Mapping[str, object]) -> dict[str, Any]:
    """Have a payload discarded. Raises GatewayRefused."""
    return gateway.asked(client, "DELETE", _path(key), body)


def _path(key: str) -> str:
    return f"/v1/{quote(key)}"


def _payload(item: Mapping[str, Any]) -> Quarantined:
    def nanos(name: str) -> int:
        return moment_nanos(name, str(item[name])) if item[name] else 0

    return Quarantined(
        str(item["key"]),
        str(item["stream_id"]),
        int(item["offset"]),
        str(item["signal"] or ""),
        int(item["size_bytes"]),
        nanos("modified_at"),
        str(item["cause"]),
        str(item["dataset_id"] or ""),
        nanos("received_at"),
    )
