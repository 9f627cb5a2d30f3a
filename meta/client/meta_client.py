"""meta's client: typed stubs, deadlines, retries at several servers, and errors as classes.

    client = MetaClient("meta-1:9500,meta-2:9500")
    client.catalog.GetDataset(GetDatasetRequest(name="default"))

Every call has a deadline. UNAVAILABLE and shed load are retried within it, at another server if
there is one: all mutating calls may be repeated, but for two that create a token and are sent once.
Every other refusal raises the class of `meta.errors` that the server raised.
"""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from meta.client import bearer_token
from meta.client.bearer_token import Metadata, TokenFile
from meta.client.calls import Channel, ClientParts
from meta.client.channel import ClientTls
from meta.client.endpoints import MetaServers
from meta.client.liveness import Liveness
from meta.client.observers import AttemptObserver, Unobserved
from segments.location import StoreLocation

if TYPE_CHECKING:
    from meta.v1 import (
        catalog_pb2_grpc,
        common_pb2,
        ingest_token_pb2_grpc,
        ingestion_pb2_grpc,
        janitor_pb2_grpc,
        merge_task_pb2_grpc,
        nursery_pb2_grpc,
        operations_pb2_grpc,
        resources_pb2_grpc,
        segment_deletion_pb2_grpc,
        segment_lookup_pb2_grpc,
        status_pb2_grpc,
    )

DEADLINE_SECS = 30.0


class MetaClient:
    """A client of one or several metas; safe for many threads, closed by `close` or `with`.

    `target` is `host:port`, or several of them with commas; a name with several addresses in DNS
    counts as several. They serve one database. `auth_token` is an access token or the
    META_AUTH_TOKEN of the servers, empty if they need none; instead, `auth_token_file` names a file
    that holds it and is read again when it changes, or `credentials` returns the metadata of each
    call. `tenant` names the tenant of all calls, for an operator or a credential that has roles in
    several; "" = its only one, or all of them for an operator. `tls` says how to connect with TLS;
    each certificate is checked for the name of its own address. `on_failure` is called with the
    address of each server that fails, if there are others. `observer` counts the attempts of calls.
    Raises ValueError if an address or a tenant is none or a file cannot be used.
    """

    # Stubs, each imported with its messages when it is first used.
    catalog: "catalog_pb2_grpc.CatalogServiceStub"
    ingestion: "ingestion_pb2_grpc.IngestionServiceStub"
    ingest_token: "ingest_token_pb2_grpc.IngestTokenServiceStub"
    nursery: "nursery_pb2_grpc.NurseryServiceStub"
    merge_task: "merge_task_pb2_grpc.MergeTaskServiceStub"
    segment_deletion: "segment_deletion_pb2_grpc.SegmentDeletionServiceStub"
    segment_lookup: "segment_lookup_pb2_grpc.SegmentLookupServiceStub"
    janitor: "janitor_pb2_grpc.JanitorServiceStub"
    operations: "operations_pb2_grpc.OperationsServiceStub"
    resources: "resources_pb2_grpc.ResourcesServiceStub"
    status: "status_pb2_grpc.StatusServiceStub"

    def __init__(
        self,
        target: str,
        *,
        auth_token: str = "",
        auth_token_file: str = "",
        credentials: Callable[[], Metadata] | None = None,
        tenant: str = "",
        deadline_secs: float = DEADLINE_SECS,
        tls: ClientTls | None = None,
        on_failure: Callable[[str], None] | None = None,
        observer: AttemptObserver | None = None,
    ) -> None:
        self.target = target
        metadata = TokenFile(auth_token_file) if auth_token_file else bearer_token.fixed(auth_token)
        self._credentials = credentials or metadata
        self._endpoints = MetaServers(target, tls, deadline_secs, on_failure)
        self._liveness = Liveness(self._endpoints)
        self._parts = ClientParts(
            self._endpoints,
            self._liveness,
            deadline_secs,
            bearer_token.in_tenant(self._credentials, tenant),
            observer or Unobserved(),
        )
        self._channel = Channel(self._parts)

    def in_tenant(self, tenant: str) -> "MetaClient":
        """Return a client over the same connections, whose calls name another tenant.

        To close one of them closes both. Raises ValueError.
        """
        other = object.__new__(MetaClient)
        other.target, other._credentials = self.target, self._credentials
        other._endpoints, other._liveness = self._endpoints, self._liveness
        metadata = bearer_token.in_tenant(self._credentials, tenant)
        other._parts = replace(self._parts, metadata=metadata)
        other._channel = Channel(other._parts)
        return other

    def metadata(self) -> Metadata:
        """Return the metadata of a call that begins now: its credential and its tenant."""
        return self._parts.metadata()

    def __getattr__(self, name: str) -> Any:
        if name not in MetaClient.__annotations__:
            raise AttributeError(name)
        service = name.title().replace("_", "")
        stub = getattr(import_module(f"meta.v1.{name}_pb2_grpc"), f"{service}ServiceStub")
        setattr(self, name, stub(self._channel))
        return getattr(self, name)

    def find_health(self, deadline_secs: float) -> bool | None:
        """Return whether a server says by grpc.health.v1 that it serves.

        The others are asked if the present one does not. None if none serves and one has no such
        service.
        """
        preferred = self._endpoints.pick()
        answers = [probe.health for probe in self._liveness.ask([preferred], deadline_secs)]
        if not answers[0]:
            others = self._endpoints.others(preferred)
            answers += [probe.health for probe in self._liveness.ask(others, deadline_secs)]
        if any(answers):
            return True
        return None if None in answers else False

    def close(self) -> None:
        """Close every connection; calls under way are cancelled."""
        self._endpoints.close()
        self._liveness.stop()

    def __enter__(self) -> "MetaClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def location(bucket: "common_pb2.CloudBucket") -> StoreLocation:
    """The location of the object store in a message of meta."""
    provider = bucket.provider or "s3"
    return StoreLocation(provider, bucket.endpoint, bucket.bucket, bucket.region, bucket.path)
