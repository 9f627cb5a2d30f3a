"""OTLP export responses: full or partial success."""

from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from segments.signals import TRAITS, Signal

_RESPONSES: dict[Signal, type[Message]] = {
    "logs": ExportLogsServiceResponse,
    "metrics": ExportMetricsServiceResponse,
    "traces": ExportTraceServiceResponse,
}


def protobuf_answer(signal: Signal, num_rejected: int) -> bytes:
    """The Export...ServiceResponse; nothing in it means full success."""
    return _response(signal, num_rejected).SerializeToString() if num_rejected else b""


def json_answer(signal: Signal, num_rejected: int) -> bytes:
    """The same in OTLP/JSON."""
    if not num_rejected:
        return b"{}"
    return MessageToJson(_response(signal, num_rejected), indent=None).encode()


def _response(signal: Signal, num_rejected: int) -> Message:
    noun = TRAITS[signal].records
    text = f"{num_rejected} {noun} are not valid OTLP (such as text that is not UTF-8); not stored"
    rejected = f"rejected_{noun.replace(' ', '_')}"
    return _RESPONSES[signal](partial_success={rejected: num_rejected, "error_message": text})
