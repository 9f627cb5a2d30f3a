"""Sends a fixed number of records with OpenTelemetry's Python SDK.

The protocol, endpoint, headers and compression come from the SDK's environment variables.
"""

import os
from importlib import import_module
from typing import Any

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

PACKAGES = {"grpc": "grpc", "http/protobuf": "http"}


def exporter(module: str, name: str) -> Any:
    """Make an exporter of the protocol in OTEL_EXPORTER_OTLP_PROTOCOL."""
    package = PACKAGES[os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"]]
    return getattr(import_module(f"opentelemetry.exporter.otlp.proto.{package}.{module}"), name)()


def send_logs(count: int) -> None:
    """Emit log records."""
    provider = LoggerProvider()
    provider.add_log_record_processor(
        BatchLogRecordProcessor(exporter("_log_exporter", "OTLPLogExporter"))
    )
    logger = provider.get_logger("sender")
    for number in range(count):
        logger.emit(body=f"record {number}")
    provider.shutdown()


def send_metrics(count: int) -> None:
    """Send one data point of each counter."""
    reader = PeriodicExportingMetricReader(exporter("metric_exporter", "OTLPMetricExporter"))
    provider = MeterProvider([reader])
    meter = provider.get_meter("sender")
    for number in range(count):
        meter.create_counter(f"counter.{number}").add(1)
    provider.shutdown()


def send_spans(count: int) -> None:
    """Start and end spans."""
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter("trace_exporter", "OTLPSpanExporter")))
    tracer = provider.get_tracer("sender")
    for number in range(count):
        tracer.start_span(f"span {number}").end()
    provider.shutdown()


if __name__ == "__main__":
    send_logs(int(os.environ["SENDER_LOGS"]))
    send_metrics(int(os.environ["SENDER_METRICS"]))
    send_spans(int(os.environ["SENDER_TRACES"]))
