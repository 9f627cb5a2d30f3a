"""meta's client: one channel, typed stubs, deadlines, retries, and errors as classes.

    client = MetaClient("127.0.0.1:9500")
    client.catalog.GetDataset(GetDatasetRequest(name="default"))

Every call has a deadline. UNAVAILABLE and shed load are retried within it: all mutating calls
may be repeated. Every other refusal raises the class of `meta.errors` that the server raised.
"""

import json
from collections.abc import Callable
from types import TracebackType
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2

from meta import errors
from meta.client import bearer_token, status_errors
from meta.client.bearer_token import Metadata, TokenFile
from meta.client.channel import ClientTls, Connection
from meta.v1 import (
    catalog_pb2_grpc,
    common_pb2,
    ingest_token_pb2_grpc,
    ingestion_pb2_grpc,
    janitor_pb2_grpc,
    merge_task_pb2_grpc,
    nursery_pb2_grpc,
    operations_pb2,
    operations_pb2_grpc,
    segment_deletion_pb2_grpc,
    segment_lookup_pb2_grpc,
)
from segments.location import StoreLocation

DEADLINE_SECS = 30.0
# A nursery's poll over many streams is larger than gRPC's default of 4 MiB.
RECEIVE_BYTES_MAX = 64 * 1024 * 1024
_STATUS_KEY = "grpc-status-details-bin"

_SERVICE_CONFIG = json.dumps(
    {
        "methodConfig": [
            {
                "name": [{}],
                "waitForReady": False,
                "retryPolicy": {
                    "maxAttempts": 5,
                    "initialBackoff": "0.1s",
                    "maxBackoff": "3s",
                    "backoffMultiplier": 2.5,
                    # Of RESOURCE_EXHAUSTED, the server allows retries of shed load only.
                    "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"],
                },
            }
        ]
    }
)


class MetaClient:
    """A connection to one meta; safe for many threads, closed by `close` or `with`.

    `auth_token` is an access token or the META_AUTH_TOKEN of the server, empty if it needs none;
    instead, `auth_token_file` names a file that holds it and is read again when it changes, or
    `credentials` returns the metadata of each call. `tls` says how to connect to a server with TLS.
    Raises ValueError if a file cannot be used.
    """

    def __init__(
        self,
        target: str,
        *,
        auth_token: str = "",
        auth_token_file: str = "",
        credentials: Callable[[], Metadata] | None = None,
        deadline_secs: float = DEADLINE_SECS,
        tls: ClientTls | None = None,
    ) -> None:
        options: list[tuple[str, str | int]] = [
            ("grpc.service_config", _SERVICE_CONFIG),
            ("grpc.max_receive_message_length", RECEIVE_BYTES_MAX),
            ("grpc.keepalive_time_ms", 60_000),
        ]
        self.target = target
        self._connection = Connection(target, options, tls, drain_secs=deadline_secs)
        metadata = TokenFile(auth_token_file) if auth_token_file else bearer_token.fixed(auth_token)
        checked = _TypedChannel(self._connection, deadline_secs, credentials or metadata)
        self.catalog = catalog_pb2_grpc.CatalogServiceStub(checked)
        self.ingestion = ingestion_pb2_grpc.IngestionServiceStub(checked)
        self.ingest_token = ingest_token_pb2_grpc.IngestTokenServiceStub(checked)
        self.nursery = nursery_pb2_grpc.NurseryServiceStub(checked)
        self.merge_task = merge_task_pb2_grpc.MergeTaskServiceStub(checked)
        self.segment_deletion = segment_deletion_pb2_grpc.SegmentDeletionServiceStub(checked)
        self.segment_lookup = segment_lookup_pb2_grpc.SegmentLookupServiceStub(checked)
        self.janitor = janitor_pb2_grpc.JanitorServiceStub(checked)
        self.operations = operations_pb2_grpc.OperationsServiceStub(checked)

    def close(self) -> None:
        """Close the channel; calls under way are cancelled."""
        self._connection.close()

    def __enter__(self) -> "MetaClient":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def location(bucket: common_pb2.CloudBucket) -> StoreLocation:
    """The location of the object store in a message of meta."""
    return StoreLocation(
        provider=bucket.provider or "s3",
        endpoint=bucket.endpoint,
        bucket=bucket.bucket,
        region=bucket.region,
        path=bucket.path,
    )


class _TypedChannel(grpc.Channel):
    """A channel whose unary calls have a deadline and raise `meta.errors` classes."""

    def __init__(
        self, connection: Connection, deadline_secs: float, metadata: Callable[[], Metadata]
    ) -> None:
        self._connection = connection
        self._deadline_secs = deadline_secs
        self._metadata = metadata

    def unary_unary(self, *args: Any, **kwargs: Any) -> Any:
        call = _Method(self._connection, "unary_unary", args, kwargs)
        return _TypedCall(call, self._deadline_secs, self._metadata)

    def unary_stream(self, *args: Any, **kwargs: Any) -> Any:
        return self._streaming("unary_stream", args, kwargs)

    def stream_unary(self, *args: Any, **kwargs: Any) -> Any:
        return self._streaming("stream_unary", args, kwargs)

    def stream_stream(self, *args: Any, **kwargs: Any) -> Any:
        return self._streaming("stream_stream", args, kwargs)

    def subscribe(self, *args: Any, **kwargs: Any) -> None:
        self._connection.channel().subscribe(*args, **kwargs)

    def unsubscribe(self, *args: Any, **kwargs: Any) -> None:
        self._connection.channel().unsubscribe(*args, **kwargs)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> "_TypedChannel":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _streaming(self, kind: str, args: Any, kwargs: Any) -> Any:
        method = _Method(self._connection, kind, args, kwargs)
        metadata = self._metadata
        return lambda *request, **options: method.bound()(*request, metadata=metadata(), **options)


class _Method:
    """One RPC on the connection's channel of the moment."""

    def __init__(self, connection: Connection, kind: str, args: Any, kwargs: Any) -> None:
        self._connection = connection
        self._kind = kind
        self._args = args
        self._kwargs = kwargs
        self._bound: tuple[grpc.Channel | None, Any] = (None, None)

    def bound(self) -> Any:
        """The callable for a call that begins now."""
        bound = self._bound
        channel = self._connection.channel()
        if bound[0] is not channel:
            call = getattr(channel, self._kind)(*self._args, **self._kwargs)
            self._bound = bound = (channel, call)
        return bound[1]


class _TypedCall:
    """One unary RPC of a stub."""

    def __init__(
        self, method: _Method, deadline_secs: float, metadata: Callable[[], Metadata]
    ) -> None:
        self._method = method
        self._deadline_secs = deadline_secs
        self._metadata = metadata

    def __call__(self, request: Any, timeout: float | None = None, **kwargs: Any) -> Any:
        _identify(kwargs, self._metadata)
        call = self._method.bound()
        try:
            return call(request, timeout=timeout or self._deadline_secs, **kwargs)
        except grpc.RpcError as error:
            raise typed_error(error) from None

    def future(self, request: Any, timeout: float | None = None, **kwargs: Any) -> Any:
        """Start the call; the future raises grpc.RpcError, which `typed_error` converts."""
        _identify(kwargs, self._metadata)
        call = self._method.bound()
        return call.future(request, timeout=timeout or self._deadline_secs, **kwargs)


def _identify(options: dict[str, Any], metadata: Callable[[], Metadata]) -> None:
    """Name the caller in a call's options, unless they name another one."""
    if options.get("metadata") is None:
        options["metadata"] = metadata()


def typed_error(error: grpc.RpcError) -> errors.MetaError:
    """The error that the server raised, by the reason in its ErrorInfo."""
    call: Any = error
    code: int = call.code().value[0]
    message: str = call.details() or ""
    reason, metadata, field = "", dict[str, str](), ""
    for key, value in call.trailing_metadata() or ():
        if key == _STATUS_KEY:
            reason, metadata, field = _details(value)
    return status_errors.from_status(code, reason, message, metadata, field)


def refused_part(refusal: operations_pb2.Refusal) -> errors.MetaError:
    """The error that the server refused a part of a call with."""
    return status_errors.from_status(
        refusal.code, refusal.reason, refusal.message, dict(refusal.metadata), refusal.field
    )


def _details(packed: bytes) -> tuple[str, dict[str, str], str]:
    reason, metadata, field = "", dict[str, str](), ""
    for detail in status_pb2.Status.FromString(packed).details:
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        if detail.Unpack(info):
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(bad) and bad.field_violations:
            field = bad.field_violations[0].field
    return reason, metadata, field
