"""Sends inputs of the field to a collector, one after the other."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tests.support.collector.http import post_to
from tests.support.collector.process import CollectorProcess
from tests.support.field.inputs import PROTOBUF, FieldInput

_METHODS = {
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "metrics": "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
}
_RESPONSES: dict[str, Any] = {
    "logs": ExportLogsServiceResponse,
    "metrics": ExportMetricsServiceResponse,
    "traces": ExportTraceServiceResponse,
}
_REJECTED = ("rejectedLogRecords", "rejectedDataPoints", "rejectedSpans")


@dataclass(frozen=True, slots=True)
class Sent:
    """An answer, and when it was waited for: its rows were received in between, in nanoseconds."""

    status: int | str
    rejected: int
    accepted: int | None
    text: str
    began_at: int
    ended_at: int


def send(collector: CollectorProcess, token: str, field_input: FieldInput) -> Sent:
    """Send an input and wait for its answer."""
    began_at = time.time_ns()
    if field_input.to.startswith("grpc "):
        return _call(collector, token, field_input, began_at)
    headers = {"X-Ingest-Token": token, **field_input.headers}
    answer = post_to(field_input.to, collector, field_input.body, headers)
    ended_at = time.time_ns()
    rejected, accepted, text = _read(field_input, answer.status, answer.body)
    return Sent(answer.status, rejected, accepted, text, began_at, ended_at)


def _read(field_input: FieldInput, status: int, body: bytes) -> tuple[int, int | None, str]:
    if field_input.headers["Content-Type"] == PROTOBUF:
        if status != 200:
            return 0, None, body.decode(errors="replace")
        return _partial(field_input.to.rpartition("/")[2], body)
    content = json.loads(body or b"{}")
    partial = content.get("partialSuccess") or {}
    rejected = sum(int(partial.get(name, 0)) for name in _REJECTED) + content.get("rejected", 0)
    return rejected, content.get("accepted"), body.decode()


def _partial(signal: str, body: bytes) -> tuple[int, None, str]:
    partial = _RESPONSES[signal].FromString(body).partial_success
    numbers = [value for field, value in partial.ListFields() if field.name != "error_message"]
    return sum(numbers), None, partial.error_message


def _call(collector: CollectorProcess, token: str, field_input: FieldInput, began_at: int) -> Sent:
    signal = field_input.to.partition(" ")[2]
    with grpc.insecure_channel(f"127.0.0.1:{collector.grpc_port}") as channel:
        try:
            export: Callable[..., bytes] = channel.unary_unary(
                _METHODS[signal], request_serializer=bytes, response_deserializer=bytes
            )
            metadata = (("x-ingest-token", token),)
            body = export(field_input.body, timeout=30, metadata=metadata)
        except grpc.RpcError as error:
            code, details = error.code().name, error.details() or ""
            return Sent(code, 0, None, details, began_at, time.time_ns())
    rejected, accepted, text = _partial(signal, body)
    return Sent("OK", rejected, accepted, text, began_at, time.time_ns())
