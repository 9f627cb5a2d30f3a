"""Divides an OTLP payload by its records into two, each with the same resources and scopes."""

from collections.abc import Container

from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from segments.protowire import fields, length_prefix
from segments.signals import Signal
from segments.v1.otlp_counts_pb2 import PointCounts

# Field number of the next level's messages; below them are log records, spans or metrics.
_CHILDREN = (1, 2, 2)
# A part that may be missing: containers without records are skipped.
_Parts = tuple[bytes | None, bytes | None]


def divide(signal: Signal, payload: bytes, chosen: Container[int]) -> tuple[bytes, bytes]:
    """Return the payload without the chosen records, and the payload of these alone.

    Records are counted from 0 in the order of the payload, data points as records. A log record or
    span keeps its bytes. Raises MalformedWire.
    """
    others, taken = _Division(signal, chosen).parts(0, payload)
    return others or b"", taken or b""


def point_kinds(payload: bytes) -> list[str]:
    """Return the kind of metric of each data point, in the order of the payload."""
    kinds: list[str] = []
    for resource in PointCounts.FromString(payload).resources:
        for scope in resource.scopes:
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                if kind is not None:
                    kinds += [kind] * len(getattr(metric, kind).data_points)
    return kinds


class _Division:
    def __init__(self, signal: Signal, chosen: Container[int]) -> None:
        self._signal = signal
        self._chosen = chosen
        self._next = 0

    def parts(self, level: int, body: bytes) -> _Parts:
        """Divide a message, from the payload (level 0) to the record or metric."""
        if level == len(_CHILDREN):
            return self._points(body) if self._signal == "metrics" else self._record(body)
        own_fields: list[bytes] = []
        divided: tuple[list[bytes], list[bytes]] = ([], [])
        for number, start, content, end in fields(body):
            if number != _CHILDREN[level] or not content:
                own_fields.append(body[start:end])
                continue
            for side, part in zip(divided, self.parts(level + 1, body[content:end]), strict=True):
                if part is not None:
                    side.append(length_prefix(number, len(part)) + part)
        if not divided[1]:
            return body, None
        head = b"".join(own_fields)
        others, taken = (head + b"".join(side) if side else None for side in divided)
        return others, taken

    def _record(self, body: bytes) -> _Parts:
        index = self._next
        self._next += 1
        return (None, body) if index in self._chosen else (body, None)

    def _points(self, body: bytes) -> _Parts:
        metric = Metric.FromString(body)
        kind = metric.WhichOneof("data")
        if kind is None:
            return body, None
        points = getattr(metric, kind).data_points
        first, self._next = self._next, self._next + len(points)
        places = [index for index in range(len(points)) if first + index in self._chosen]
        if not places:
            return body, None
        if len(places) == len(points):
            return None, body
        taken = Metric.FromString(body)
        of_taken = getattr(taken, kind).data_points
        for index in reversed(range(len(points))):
            del (points if first + index in self._chosen else of_taken)[index]
        return metric.SerializeToString(), taken.SerializeToString()
