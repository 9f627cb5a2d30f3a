"""Records of OTLP messages with all that is around them, as bags."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from segments.signals import Signal

LEVELS = {
    "logs": ("resource_logs", "scope_logs", "log_records"),
    "metrics": ("resource_metrics", "scope_metrics", "metrics"),
    "traces": ("resource_spans", "scope_spans", "spans"),
}


def records(signal: Signal, data: Any) -> Counter[tuple[bytes, ...]]:
    """Every record with its containers, in any order; data points each in their metric."""
    found: Counter[tuple[bytes, ...]] = Counter()
    by_resource, by_scope, by_record = LEVELS[signal]
    for container in getattr(data, by_resource):
        for scope in getattr(container, by_scope):
            around = (
                str(container.HasField("resource")).encode(),
                wire(container.resource),
                container.schema_url.encode(),
                str(scope.HasField("scope")).encode(),
                wire(scope.scope),
                scope.schema_url.encode(),
            )
            for record in getattr(scope, by_record):
                for one in points(record) if signal == "metrics" else [record]:
                    found[(*around, wire(one))] += 1
    return found


def wire(message: Any) -> bytes:
    return bytes(message.SerializeToString(deterministic=True))


def points(metric: Any) -> Iterator[Any]:
    kind = metric.WhichOneof("data")
    if kind is None:
        return
    for point in getattr(metric, kind).data_points:
        alone = type(metric)()
        alone.CopyFrom(metric)
        del getattr(alone, kind).data_points[:]
        getattr(alone, kind).data_points.add().CopyFrom(point)
        yield alone
