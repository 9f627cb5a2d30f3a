"""Request ids: the caller's `x-request-id` or a new UUID, in every refusal and its log line."""

from collections.abc import Iterable
from typing import Any, TypeAlias
from uuid import uuid4

import grpc
import structlog

from meta.errors import MetaError

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
Metadata: TypeAlias = Iterable[tuple[str, str | bytes]]
HEADER = "x-request-id"
_CHARACTERS_MAX = 128
log = structlog.get_logger()


def of_call(context: Context) -> str:
    """The request id that the caller sent, cut to 128 characters, or a new one."""
    return sent_in(context.invocation_metadata()) or str(uuid4())


def sent_in(metadata: Metadata | None) -> str:
    """The request id in a caller's metadata, cut to 128 characters; "" = none."""
    for key, value in metadata or ():
        if key == HEADER and isinstance(value, str):
            return value[:_CHARACTERS_MAX]
    return ""


def log_refusal(error: Exception, reason: str, rpc: str, request_id: str, subject: str) -> None:
    """Log a refused call, and with its traceback one that failed by a fault of the server."""
    if isinstance(error, MetaError | NotImplementedError):
        log.info("rpc_refused", rpc=rpc, reason=reason, request_id=request_id, subject=subject)
    else:
        log.error("rpc_failed", rpc=rpc, request_id=request_id, exc_info=error)
