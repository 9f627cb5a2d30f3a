"""OTLP's official classes: the message that one export of each signal is."""

from google.protobuf.message import Message
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from segments.signals import Signal

OFFICIAL_CLASSES: dict[Signal, type[Message]] = {
    "logs": LogsData,
    "metrics": MetricsData,
    "traces": TracesData,
}
