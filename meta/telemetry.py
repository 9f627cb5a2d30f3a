"""Export of a process's own traces, metrics and logs over OTLP, by the official SDK.

Enabled by OTEL_EXPORTER_OTLP_ENDPOINT; every OTEL_* variable of the SDK applies. Metrics are those
of `meta.metrics`, read from the Prometheus registry; logs are the structlog events, each with a
`log.record.uid`; spans are opened with `span`, and with `served` and `joined` for what a caller
asks for: they join its trace (https://www.w3.org/TR/trace-context/).

If all of it goes to a dataset of this installation, the work on that dataset is not recorded
(`about`): an idle installation would feed itself otherwise.
"""

import atexit
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast
from urllib.parse import urlsplit
from uuid import uuid4

from prometheus_client import REGISTRY

Event = MutableMapping[str, Any]
_SEVERITIES = {"debug": 5, "info": 9, "warning": 13, "error": 17, "critical": 21}
Headers = Iterable[tuple[str, str | bytes]]
# Longest wait at the end of a process for its last records to be taken.
END_SECS = 1.0
_PROBE_SECS = 0.2
_NAME_KEYS = ("dataset", "dataset_name")
_UNRECORDED = "segplane-unrecorded"
_tracer: Any = None
# Spans of the calls that the process answers; None while telemetry is disabled.
_calls: Any = None
_NOTHING = nullcontext()


@dataclass(frozen=True, slots=True)
class TelemetryDataset:
    """The dataset that receives what the processes of its installation send."""

    name: str
    id: str

    def is_in(self, event: Event) -> bool:
        """True if a log event names the dataset."""
        is_named = any(event.get(key) == self.name for key in _NAME_KEYS)
        return is_named or any(self.id in str(value) for value in event.values())


_dataset: TelemetryDataset | None = None


def is_enabled() -> bool:
    """True if an endpoint is set."""
    return bool(os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"))


def install(
    service: str, dataset: TelemetryDataset | None = None
) -> Callable[[Any, str, Event], Event]:
    """Start exporting as `service`; returns the structlog processor that exports events.

    `dataset` is the one that receives it, if it is of this installation. Raises ImportError if the
    `telemetry` extra is missing.
    """
    from opentelemetry import metrics, trace
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    global _dataset
    _dataset = dataset
    identity = {"service.name": f"segplane-{service}", "service.instance.id": str(uuid4())}
    resource = Resource.create(identity)
    traces = TracerProvider(resource=resource, shutdown_on_exit=False)
    traces.add_span_processor(BatchSpanProcessor(_exporter("trace_exporter", "OTLPSpanExporter")))
    trace.set_tracer_provider(traces)
    _trace_with(traces.get_tracer("segplane"))
    reader = PeriodicExportingMetricReader(_exporter("metric_exporter", "OTLPMetricExporter"))
    meters = MeterProvider(resource=resource, metric_readers=[reader], shutdown_on_exit=False)
    metrics.set_meter_provider(meters)
    _bridge(meters.get_meter("segplane"))
    logs = LoggerProvider(resource=resource, shutdown_on_exit=False)
    logs.add_log_record_processor(
        BatchLogRecordProcessor(_exporter("_log_exporter", "OTLPLogExporter"))
    )
    _end_in_time([provider.shutdown for provider in (traces, meters, logs)])
    return _shipper(logs.get_logger("segplane"))


def _trace_with(tracer: Any) -> None:
    from meta.call_spans import CallSpans

    global _tracer, _calls
    _tracer, _calls = tracer, CallSpans(tracer)


def _end_in_time(ends: Iterable[Callable[[], None]]) -> None:
    """Send what waits when the process ends, within END_SECS; nothing if nobody listens.

    The SDK waits up to 30 s for each signal. The threads start now: at the end of a process none
    may start.
    """
    ending = threading.Event()

    def run(end: Callable[[], None]) -> None:
        ending.wait()
        end()

    threads = [threading.Thread(target=run, args=(end,), daemon=True) for end in ends]
    for thread in threads:
        thread.start()

    def at_exit() -> None:
        if _is_refused():
            return
        ends_at = time.monotonic() + END_SECS
        ending.set()
        for thread in threads:
            thread.join(max(0.0, ends_at - time.monotonic()))

    atexit.register(at_exit)


def _is_refused() -> bool:
    """True if the endpoint refuses connections: its collector has ended."""
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    with suppress(OSError, ValueError):
        url = urlsplit(endpoint if "//" in endpoint else f"//{endpoint}")
        try:
            socket.create_connection((url.hostname or "", url.port or 0), _PROBE_SECS).close()
        except ConnectionRefusedError:
            return bool(url.port)
    return False


def about(dataset_ids: Iterable[str | None]) -> AbstractContextManager[object]:
    """Record a block, unless it is about the dataset that receives this telemetry and no other.

    Then neither spans nor log events leave this process, and servers that the block calls record
    no span either.
    """
    if _dataset is None or set(dataset_ids) != {_dataset.id}:
        return _NOTHING
    return _unrecorded()


@contextmanager
def _unrecorded() -> Iterator[None]:
    from opentelemetry import context, trace

    # Valid, so that calls send it, and not sampled, so that no span below it is recorded.
    parent = trace.NonRecordingSpan(trace.SpanContext(1, 1, is_remote=False))
    marked = context.set_value(_UNRECORDED, True, trace.set_span_in_context(parent))
    token = context.attach(marked)
    try:
        yield
    finally:
        context.detach(token)


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
    return _NOTHING if _calls is None else _calls.served(name, headers)


def joined(name: str, headers: Callable[[], Headers | None]) -> AbstractContextManager[object]:
    """Trace a block that answers a request whose headers name a trace, and no other request.

    So a collector that is sent its own spans makes no further ones of them.
    """
    opened = _calls.joined(name, headers) if _calls is not None else None
    return _NOTHING if opened is None else opened


def exemplar(opened: object) -> dict[str, str] | None:
    """Return the trace of an opened span for a histogram; None if it is not recorded."""
    if opened is None:
        return None
    context = cast(Any, opened).get_span_context()
    return {"trace_id": f"{context.trace_id:032x}"} if context.trace_flags.sampled else None


def _exporter(module: str, name: str) -> Any:
    """Make an exporter of the SDK, by OTEL_EXPORTER_OTLP_PROTOCOL."""
    is_http = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc").startswith("http")
    package = f"opentelemetry.exporter.otlp.proto.{'http' if is_http else 'grpc'}"
    return getattr(import_module(f"{package}.{module}"), name)()


def _shipper(logger: Any) -> Callable[[Any, str, Event], Event]:
    from opentelemetry import context
    from opentelemetry._logs import LogRecord, SeverityNumber

    def ship(_: Any, level: str, event: Event) -> Event:
        if _dataset and (context.get_value(_UNRECORDED) or _dataset.is_in(event)):
            return event
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

    # Of all families, each of them would be collected once for each instrument.
    registry = REGISTRY.restricted_registry((sample_name,))

    def observe(_: Any) -> Iterable[Any]:
        for family in registry.collect():
            for sample in family.samples:
                if sample.name == sample_name:
                    yield Observation(sample.value, sample.labels)

    return observe
