"""Statuses of refused calls: google.rpc.Status with ErrorInfo, RequestInfo and more details."""

from typing import TypeAlias

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from meta.errors import (
    DOMAIN,
    Code,
    InvalidArgument,
    MetaError,
    Overloaded,
    Unavailable,
    Unimplemented,
)
from meta.rpc.request_id import HEADER

# The arguments of `context.abort`: code, details, trailing metadata.
Refusal: TypeAlias = tuple[grpc.StatusCode, str, tuple[tuple[str, str | bytes], ...]]
RETRY_AFTER_SECS = 1
# Messages may repeat values of the caller. Clients receive 8 KiB of metadata, in which a message
# stands three times, and takes three times as much where it is not ASCII.
MESSAGE_BYTES_MAX = 1_200
# The delay before a retry in milliseconds, as gRPC clients obey it; negative = do not retry.
PUSHBACK_HEADER = "grpc-retry-pushback-ms"


def as_meta_error(error: Exception, request_id: str) -> MetaError:
    """Error for the caller: one that is not for callers becomes an internal error."""
    if isinstance(error, MetaError):
        return error
    if isinstance(error, NotImplementedError):
        return Unimplemented("this server does not have the call")
    return MetaError(f"internal error; quote request id {request_id}")


def refusal(error: MetaError, request_id: str) -> Refusal:
    """The error as `context.abort` takes it."""
    status = rpc_status.to_status(to_status(error, request_id))
    trailing = (*status.trailing_metadata, (HEADER, request_id))
    if error.code is Code.RESOURCE_EXHAUSTED:
        # Clients that retry this code by a policy learn that only load passes by itself.
        delay_ms = 1_000 * RETRY_AFTER_SECS if isinstance(error, Overloaded) else -1
        trailing = (*trailing, (PUSHBACK_HEADER, str(delay_ms)))
    return status.code, status.details, trailing


def to_status(error: MetaError, request_id: str) -> status_pb2.Status:
    """The error as google.rpc.Status, with field violations and a retry delay if they apply."""
    message = _shortened(error.message)
    details = [
        error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=error.metadata),
        error_details_pb2.RequestInfo(request_id=request_id),
    ]
    if isinstance(error, InvalidArgument):
        violation = error_details_pb2.BadRequest.FieldViolation(
            field=error.field, description=message
        )
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    if isinstance(error, Overloaded | Unavailable):
        delay = duration_pb2.Duration(seconds=RETRY_AFTER_SECS)
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    packed = []
    for detail in details:
        packed.append(any_pb2.Any())
        packed[-1].Pack(detail)
    return status_pb2.Status(code=error.code.value, message=message, details=packed)


def _shortened(message: str) -> str:
    encoded = message.encode(errors="replace")
    if len(encoded) <= MESSAGE_BYTES_MAX:
        return message
    return encoded[: MESSAGE_BYTES_MAX - 3].decode(errors="ignore") + "..."
