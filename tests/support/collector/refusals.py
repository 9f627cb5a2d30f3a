"""Refusals of OTLP over gRPC, taken apart."""

from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2


def refusal(call: Any) -> tuple[grpc.StatusCode, str]:
    """Wait for a call that is refused."""
    error = call.exception()
    assert error is not None, "the export was acknowledged"
    return error.code(), error.details()


def retry_after_secs(call: Any) -> float | None:
    """The delay in the RetryInfo of a refused call."""
    details = dict(call.exception().trailing_metadata())["grpc-status-details-bin"]
    info = error_details_pb2.RetryInfo()
    for detail in status_pb2.Status.FromString(details).details:
        if detail.Unpack(info):
            return float(info.retry_delay.ToNanoseconds()) / 1e9
    return None
