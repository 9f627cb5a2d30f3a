"""OTLP export responses: full or partial success."""

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
    return _response(signal, result).SerializeToString() if result.num_rejected else b""


def json_answer(signal: Signal, result: PartialSuccess) -> bytes:
    """The same in OTLP/JSON."""
    if not result.num_rejected:
        return b"{}"
    return MessageToJson(_response(signal, result), indent=None).encode()


def _response(signal: Signal, result: PartialSuccess) -> Message:
    noun = TRAITS[signal].records
    text = f"{result.num_rejected} {noun} were not stored: {result.cause}"
    rejected = f"rejected_{noun.replace(' ', '_')}"
    return _RESPONSES[signal](
        partial_success={rejected: result.num_rejected, "error_message": text}
    )
