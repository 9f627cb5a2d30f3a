"""Export of a process's own traces, metrics and logs over OTLP, by the official SDK.

Enabled by OTEL_EXPORTER_OTLP_ENDPOINT; every OTEL_* variable of the SDK applies. Metrics are those
of `meta.metrics`, read from the Prometheus registry; logs are the structlog events, each with a
`log.record.uid`; spans are opened with `span`, and with `served` and `joined` for what a caller
asks for: they join its trace (https://www.w3.org/TR/trace-context/).
"""

import os
import time
from collections.abc import Callable, Iterable, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any
from uuid import uuid4

from prometheus_client import REGISTRY

from meta.client.traces import HEADERS, STATE_CHARS_MAX

Event = MutableMapping[str, Any]
_SEVERITIES = {"debug": 5, "info": 9, "warning": 13, "error": 17, "critical": 21}
Headers = Iterable[tuple[str, str | bytes]]
_tracer: Any = None
_NOTHING = nullcontext()


def is_enabled() -> bool:
    """True if an endpoint is set."""
    return bool(os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"))


def install(service: str) -> Callable[[Any, str, Event], Event]:
    """Start exporting as `service`; returns the structlog processor that exports events.

    Raises ImportError if the `telemetry` extra is missing.
    """
    from opentelemetry import metrics, trace
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    global _tracer
    identity = {"service.name": f"segplane-{service}", "service.instance.id": str(uuid4())}
    resource = Resource.create(identity)
    traces = TracerProvider(resource=resource)
    traces.add_span_processor(BatchSpanProcessor(_exporter("trace_exporter", "OTLPSpanExporter")))
    trace.set_tracer_provider(traces)
    _tracer = traces.get_tracer("segplane")
    reader = PeriodicExportingMetricReader(_exporter("metric_exporter", "OTLPMetricExporter"))
    meters = MeterProvider(resource=resource, metric_readers=[reader])
    metrics.set_meter_provider(meters)
    _bridge(meters.get_meter("segplane"))
    logs = LoggerProvider(resource=resource)
    logs.add_log_record_processor(
        BatchLogRecordProcessor(_exporter("_log_exporter", "OTLPLogExporter"))
    )
    return _shipper(logs.get_logger("segplane"))


def span(name: str, **attributes: str | int | float | bool) -> AbstractContextManager[object]:
    """Trace a block; does nothing while telemetry is disabled."""
    if _tracer is None:
        return _NOTHING
    opened: AbstractContextManager[object] = _tracer.start_as_current_span(
        name, attributes=attributes
    )
    return opened


def served(name: str, headers: Callable[[], Headers | None]) -> AbstractContextManager[object]:
    """Trace a block that answers a call, as a part of the trace that its headers name.

    A malformed header, or one that comes twice, is none; by the SDK's default sampler a trace that
    its caller does not record is not recorded here either.
    """
    return _NOTHING if _tracer is None else _served(name, _parent(headers))


def joined(name: str, headers: Callable[[], Headers | None]) -> AbstractContextManager[object]:
    """Trace a block that answers a request whose headers name a trace, and no other request.

    So a collector that is sent its own spans makes no further ones of them.
    """
    if _tracer is None:
        return _NOTHING
    parent = _parent(headers)
    return _served(name, parent) if parent else _NOTHING


def _parent(headers: Callable[[], Headers | None]) -> Any:
    """The context of the caller's span; an empty one if there is none."""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract(_carrier(headers() or ()))


def _served(name: str, parent: Any) -> AbstractContextManager[object]:
    from opentelemetry.trace import SpanKind

    opened: AbstractContextManager[object] = _tracer.start_as_current_span(
        name, context=parent, kind=SpanKind.SERVER
    )
    return opened


def _carrier(headers: Headers) -> dict[str, str]:
    """The headers of a trace, by their names in lower case."""
    carrier: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        if key in HEADERS and isinstance(value, str) and len(value) <= STATE_CHARS_MAX:
            carrier[key] = f"{carrier[key]},{value}" if key in carrier else value
    # The SDK takes the first of several, which is not valid.
    return carrier if "," not in carrier.get(HEADERS[0], "") else {}


def _exporter(module: str, name: str) -> Any:
    """Make an exporter of the SDK, by OTEL_EXPORTER_OTLP_PROTOCOL."""
    is_http = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc").startswith("http")
    package = f"opentelemetry.exporter.otlp.proto.{'http' if is_http else 'grpc'}"
    return getattr(import_module(f"{package}.{module}"), name)()


def _shipper(logger: Any) -> Callable[[Any, str, Event], Event]:
    from opentelemetry._logs import LogRecord, SeverityNumber

    def ship(_: Any, level: str, event: Event) -> Event:
        attributes = {
            key: value if isinstance(value, str | int | float | bool) else str(value)
            for key, value in event.items()
            if key not in {"event", "level", "timestamp"}
        }
        attributes["log.record.uid"] = str(uuid4())
        logger.emit(
            LogRecord(
                timestamp=time.time_ns(),
                severity_text=level.upper(),
                severity_number=SeverityNumber(_SEVERITIES.get(level, 9)),
                body=str(event.get("event", "")),
                attributes=attributes,
            )
        )
        return event

    return ship


def _bridge(meter: Any) -> None:
    """Register every Segplane family of the Prometheus registry as an observable instrument."""
    for family in REGISTRY.collect():
        if not family.name.startswith("segplane_"):
            continue
        if family.type == "gauge":
            meter.create_observable_gauge(family.name, callbacks=[_reader(family.name)])
            continue
        suffixes = ("_count", "_sum") if family.type == "histogram" else ("_total",)
        for suffix in suffixes:
            name = family.name + suffix
            meter.create_observable_counter(name, callbacks=[_reader(name)])


def _reader(sample_name: str) -> Callable[[Any], Iterable[Any]]:
    from opentelemetry.metrics import Observation

    def observe(_: Any) -> Iterable[Any]:
        for family in REGISTRY.collect():
            for sample in family.samples:
                if sample.name == sample_name:
                    yield Observation(sample.value, sample.labels)

    return observe
