"""OTLP export responses: full success, a warning, or partial success."""

from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.partial_success import PartialSuccess
from segments.signals import TRAITS, Signal

_RESPONSES: dict[Signal, type[Message]] = {
    "logs": ExportLogsServiceResponse,
    "metrics": ExportMetricsServiceResponse,
    "traces": ExportTraceServiceResponse,
}


def protobuf_answer(signal: Signal, result: PartialSuccess) -> bytes:
    """The Export...ServiceResponse; nothing in it means full success."""
    return _response(signal, result).SerializeToString() if _message(signal, result) else b""


def json_answer(signal: Signal, result: PartialSuccess) -> bytes:
    """The same in OTLP/JSON."""
    if not _message(signal, result):
        return b"{}"
    return MessageToJson(_response(signal, result), indent=None).encode()


def _response(signal: Signal, result: PartialSuccess) -> Message:
    # By OTLP's rules, a message beside a number of 0 is a warning.
    rejected = f"rejected_{TRAITS[signal].records.replace(' ', '_')}"
    return _RESPONSES[signal](
        partial_success={rejected: result.num_rejected, "error_message": _message(signal, result)}
    )


def _message(signal: Signal, result: PartialSuccess) -> str:
    if not result.num_rejected:
        return result.warning
    text = f"{result.num_rejected} {TRAITS[signal].records} were not stored: {result.cause}"
    return f"{text}; {result.warning}" if result.warning else text
