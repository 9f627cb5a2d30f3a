"""Replies of a recorded server to reading calls; later servers over its database give the same."""

from collections.abc import Iterator
from typing import Any

import grpc

from tests.support.releases.client import DescribedClient

ALL = {"pagination": {"limit": 1_000}}
# Fields of a server, not of its catalog: its store's address, the time of the call, and the ends of
# leases, which move by as long as no server ran.
_VOLATILE = {"bucket", "database_time_nanos", "expires_at_nanos", "ends_at_nanos", "left_secs"}


def requests(admin: DescribedClient) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the calls: method and request as JSON."""
    for kind in ("Datasets", "Schemas", "Views", "Projections", "ViewDatasetProjections"):
        yield f"CatalogService.List{kind}", ALL
    yield "IngestTokenService.ListIngestTokens", ALL
    yield "OperationsService.ListAccessTokens", ALL
    yield "OperationsService.ListLosses", ALL
    yield "OperationsService.ListAuditRecords", {"limit": "1000"}
    yield "OperationsService.ListPins", {}
    yield "OperationsService.ListParkedStreams", {}
    yield "OperationsService.ListStoredObjects", {"limit": 1_000}
    yield "OperationsService.ListRewriteJobs", {}
    yield "OperationsService.ListDamagedObjects", {}
    yield "OperationsService.ListDeniedCalls", {}
    yield "OperationsService.ListUnreadSegments", {}
    yield "OperationsService.ListWorkerSettings", {}
    yield "JanitorService.ListMergeTasks", {}
    yield "NurseryService.GetIngestStreamsForNursery", {}
    for dataset in admin.call("CatalogService.ListDatasets", ALL)["items"]:
        yield from _of_dataset(admin, dataset["id"], dataset["name"])


def ask(admin: DescribedClient, method: str, request: dict[str, Any]) -> Any:
    """Make a call; returns what must stay of its reply, or the status that refuses it."""
    try:
        reply = admin.call(method, request)
    except grpc.RpcError as error:
        return {"refused": error.code().name}
    return _stable(reply)


def _of_dataset(
    admin: DescribedClient, dataset_id: str, name: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    found = {"dataset_names": [name], "limit": 1_000}
    segments = admin.call("SegmentLookupService.FindSegments", found).get("segments", [])
    yield "SegmentLookupService.FindSegments", found
    ids = {"segment_ids": [segment["id"] for segment in segments]}
    yield "SegmentLookupService.GetSegmentsByIds", ids
    yield "CatalogService.GetShardingFields", {"name": name}
    by_id = {"dataset_id": dataset_id}
    for method in ("GetDatasetSettings", "GetOffsetsAt", "ListUnmergedBabies", "GetSegmentFormats"):
        yield f"OperationsService.{method}", by_id
    changes = {"dataset_name": name, "limit": 1_000}
    yield "OperationsService.ListDatasetChanges", changes


def _stable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _stable(part) for name, part in value.items() if name not in _VOLATILE}
    if isinstance(value, list):
        return [_stable(part) for part in value]
    return value
