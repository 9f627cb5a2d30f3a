"""Generates baby segments as collectors write them: stamped, logs, traces and metrics of one token.

Records are ordinary ones of a web shop: names repeat, ids and texts differ.
"""

import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from uuid import UUID, uuid4

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2

from nursery.planning.streams import BabyFacts, IngestStream
from segments.baby import Baby, BabyKind, Export, TokenPart, encode_baby
from segments.keys import baby_key
from segments.location import StoreLocation
from segments.signals import Signal
from segments.store.open import open_store

START = 1_790_000_000 * 10**9
SECOND = 10**9
RECORDS_PER_EXPORT_MAX = 256
# Records of each signal among twenty; about 290 bytes each.
_MIX: dict[Signal, int] = {"logs": 11, "traces": 5, "metrics": 4}
_BYTES_PER_RECORD = 294
_METHODS = ("GET", "POST", "PUT")
_ROUTES = ("/api/v1/orders", "/api/v1/cart", "/api/v1/users", "/search", "/checkout")


@dataclass(frozen=True, slots=True)
class BabySpec:
    """Babies to generate: `size_bytes` of OTLP in `babies` baby segments, spread over `streams`.

    A baby holds `datasets_per_baby` of the datasets, one token each; together all of them.
    """

    babies: int
    datasets: int
    streams: int
    datasets_per_baby: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class BabySet:
    """Baby segments in a store, as meta tells a nursery of them."""

    streams: tuple[IngestStream, ...]
    size_bytes: int
    records: int


@dataclass(frozen=True, slots=True)
class _Order:
    """One baby to write."""

    stream_id: str
    offset: int
    dataset_ids: tuple[str, ...]
    records_per_dataset: int
    seed: int


@dataclass(frozen=True, slots=True)
class _Made:
    """One baby that was written."""

    order: _Order
    object_bytes: int
    otlp_bytes: int
    records: int


def write_babies(location: StoreLocation, spec: BabySpec, processes: int = 2) -> BabySet:
    """Write baby segments of new streams and datasets into a store."""
    orders = list(_orders(spec))
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        made = list(pool.map(partial(_write, location), orders))
    by_stream: dict[str, list[_Made]] = {}
    for one in made:
        by_stream.setdefault(one.order.stream_id, []).append(one)
    return BabySet(
        streams=tuple(_stream(stream_id, found) for stream_id, found in by_stream.items()),
        size_bytes=sum(one.otlp_bytes for one in made),
        records=sum(one.records for one in made),
    )


def _orders(spec: BabySpec) -> Iterator[_Order]:
    dataset_ids = [str(UUID(int=uuid4().int)) for _ in range(spec.datasets)]
    stream_ids = [str(uuid4()) for _ in range(spec.streams)]
    per_dataset = spec.size_bytes // _BYTES_PER_RECORD // spec.babies // spec.datasets_per_baby
    for number in range(spec.babies):
        first = number * spec.datasets_per_baby
        yield _Order(
            stream_ids[number % spec.streams],
            number // spec.streams,
            tuple(dataset_ids[(first + k) % spec.datasets] for k in range(spec.datasets_per_baby)),
            per_dataset,
            number,
        )


def _stream(stream_id: str, made: Sequence[_Made]) -> IngestStream:
    babies = tuple(
        BabyFacts(
            one.order.offset,
            one.object_bytes,
            START + one.order.offset * SECOND,
            frozenset(one.order.dataset_ids),
        )
        for one in made
    )
    dataset_ids = {d for one in made for d in one.order.dataset_ids}
    return IngestStream(stream_id, made[-1].order.offset, dict.fromkeys(dataset_ids, -1), babies)


def _write(location: StoreLocation, order: _Order) -> _Made:
    rnd = random.Random(order.seed)
    parts = []
    for index, dataset_id in enumerate(order.dataset_ids):
        source = _Source(rnd, order.offset, f"{index:02}")
        token_id = str(UUID(bytes=rnd.randbytes(16)))
        for signal, share in _MIX.items():
            count = max(1, order.records_per_dataset * share // sum(_MIX.values()))
            parts.append(_part(token_id, dataset_id, signal, source, count))
    baby = Baby(tuple(parts), BabyKind.DATA, rnd.randbytes(16), source.received_at)
    body = encode_baby(baby)
    open_store(location).put_if_absent(baby_key(order.stream_id, order.offset), body)
    otlp_bytes = sum(part.size_bytes for part in parts)
    return _Made(order, len(body), otlp_bytes, baby.num_records)


def _part(
    token_id: str, dataset_id: str, signal: Signal, source: "_Source", count: int
) -> TokenPart:
    sizes = [RECORDS_PER_EXPORT_MAX] * (count // RECORDS_PER_EXPORT_MAX)
    sizes += [count % RECORDS_PER_EXPORT_MAX] if count % RECORDS_PER_EXPORT_MAX else []
    slices = tuple(source.export(signal, size) for size in sizes)
    export = Export(b"d" * 32, source.received_at)
    return TokenPart(
        token_id,
        signal,
        slices,
        dataset_id,
        count,
        source.start,
        source.start + SECOND,
        (export,) * len(slices),
    )


class _Source:
    """The exporters of one token, within the second of one flush."""

    def __init__(self, rnd: random.Random, offset: int, name: str) -> None:
        self._rnd = rnd
        self._name = name
        self.start = START + offset * SECOND
        self.received_at = self.start + SECOND

    def export(self, signal: Signal, count: int) -> bytes:
        """One export of one pod: a resource, a scope, `count` records."""
        resource, scope = self._resource(), self._scope()
        if signal == "logs":
            logs = [self._log() for _ in range(count)]
            scope_logs = logs_pb2.ScopeLogs(scope=scope, log_records=logs)
            container = logs_pb2.ResourceLogs(resource=resource, scope_logs=[scope_logs])
            return logs_pb2.LogsData(resource_logs=[container]).SerializeToString()
        if signal == "traces":
            spans = [self._span() for _ in range(count)]
            scope_spans = trace_pb2.ScopeSpans(scope=scope, spans=spans)
            traced = trace_pb2.ResourceSpans(resource=resource, scope_spans=[scope_spans])
            return trace_pb2.TracesData(resource_spans=[traced]).SerializeToString()
        metrics = [self._metric(min(8, count - done)) for done in range(0, count, 8)]
        scope_metrics = metrics_pb2.ScopeMetrics(scope=scope, metrics=metrics)
        measured = metrics_pb2.ResourceMetrics(resource=resource, scope_metrics=[scope_metrics])
        return metrics_pb2.MetricsData(resource_metrics=[measured]).SerializeToString()

    def _resource(self) -> Resource:
        rnd = self._rnd
        return Resource(
            attributes=[
                _text("service.name", f"shop-{self._name}-{rnd.randrange(6)}"),
                _text("host.name", f"node-{rnd.randrange(40)}"),
                _text("k8s.pod.name", f"pod-{rnd.randrange(200):03}-{rnd.randrange(2**20):05x}"),
                _text("deployment.environment", "prod"),
                _text("telemetry.sdk.language", "go"),
            ]
        )

    def _scope(self) -> InstrumentationScope:
        return InstrumentationScope(name=f"shop/{self._rnd.randrange(12)}", version="1.4.2")

    def _log(self) -> logs_pb2.LogRecord:
        rnd, time = self._rnd, self._time()
        route, user = rnd.choice(_ROUTES), rnd.randrange(10_000)
        return logs_pb2.LogRecord(
            time_unix_nano=time,
            observed_time_unix_nano=time + 40_000,
            severity_number=rnd.choice((9, 9, 9, 13, 17)),  # type: ignore[arg-type]
            severity_text="INFO",
            body=AnyValue(
                string_value=f"request {rnd.choice(_METHODS)} {route}/{rnd.randrange(10**5)}"
                f" finished with status {rnd.choice((200, 200, 404, 500))} in"
                f" {rnd.randrange(5_000)} ms for user {user}"
            ),
            attributes=[
                _text("http.method", rnd.choice(_METHODS)),
                _text("http.route", route),
                _text("user.id", f"u{user}"),
                _int("thread.id", rnd.randrange(64)),
                _text("request.id", rnd.randbytes(12).hex()),
                _text("client.address", f"10.{rnd.randrange(256)}.{rnd.randrange(256)}.7"),
                _text("code.function.name", f"shop.handlers.{route[1:]}.handle"),
            ],
            trace_id=rnd.randbytes(16),
            span_id=rnd.randbytes(8),
        )

    def _span(self) -> trace_pb2.Span:
        rnd, time = self._rnd, self._time()
        route = rnd.choice(_ROUTES)
        span = trace_pb2.Span(
            trace_id=rnd.randbytes(16),
            span_id=rnd.randbytes(8),
            parent_span_id=rnd.randbytes(8),
            name=f"{rnd.choice(_METHODS)} {route}",
            kind=trace_pb2.Span.SPAN_KIND_SERVER,
            start_time_unix_nano=time,
            end_time_unix_nano=time + rnd.randrange(5_000_000),
            attributes=[
                _text("http.route", route),
                _int("http.status_code", rnd.choice((200, 404, 500))),
                _int("net.peer.port", rnd.randrange(60_000)),
                _text("url.path", f"{route}/{rnd.randrange(10**5)}"),
                _text("user_agent.original", f"shop-app/4.{rnd.randrange(20)} (Android 16)"),
                _text("request.id", rnd.randbytes(12).hex()),
            ],
        )
        if rnd.random() < 0.1:
            event = span.events.add(name="exception", time_unix_nano=time + 1_000)
            event.attributes.append(_text("exception.type", "TimeoutError"))
        return span

    def _metric(self, points: int) -> metrics_pb2.Metric:
        rnd, time = self._rnd, self._time()
        metric = metrics_pb2.Metric(name=f"shop.metric.{rnd.randrange(60)}", unit="ms")
        kind = rnd.randrange(3)
        for _ in range(points):
            attributes = [
                _text("method", rnd.choice(_METHODS)),
                _text("http.route", rnd.choice(_ROUTES)),
                _text("device", f"sd{rnd.randrange(16)}"),
                _text("server.address", f"db-{rnd.randrange(30)}.shop.internal"),
            ]
            times = {"start_time_unix_nano": self.start, "time_unix_nano": time}
            if kind == 0:
                value = rnd.random() * 1_000
                metric.gauge.data_points.add(attributes=attributes, as_double=value, **times)
            elif kind == 1:
                metric.sum.is_monotonic = True
                metric.sum.aggregation_temporality = (
                    metrics_pb2.AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
                )
                number = rnd.randrange(10**6)
                metric.sum.data_points.add(attributes=attributes, as_int=number, **times)
            else:
                counts = [rnd.randrange(100) for _ in range(8)]
                metric.histogram.data_points.add(
                    attributes=attributes,
                    count=sum(counts),
                    sum=rnd.random() * 1e5,
                    bucket_counts=counts,
                    explicit_bounds=(1.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1000.0),
                    **times,
                )
        return metric

    def _time(self) -> int:
        return self.start + self._rnd.randrange(SECOND)


def _text(key: str, value: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=value))


def _int(key: str, value: int) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(int_value=value))
