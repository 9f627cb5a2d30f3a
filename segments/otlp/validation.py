"""OTLP's official schema, changed so that no export makes its parse large.

A message field that is declared singular and occurs several times on the wire is merged by every
parser, and merging joins repeated numbers. So the official schema with every repeated message made
singular takes and refuses the same bytes (frames, UTF-8, nesting), keeps next to nothing of them,
and shows the times of all records in one list. It is made of the installed official classes.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from operator import attrgetter
from typing import Any, cast

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from segments.otlp.official import OFFICIAL_CLASSES
from segments.signals import TRAITS, Signal

_FILES: dict[Signal, FileDescriptor] = {
    signal: cast(FileDescriptor, message.DESCRIPTOR.file)
    for signal, message in OFFICIAL_CLASSES.items()
}
# The fields that are joined into lists, by message.
_TIMES: dict[str, tuple[str, ...]] = {
    "LogRecord": ("time_unix_nano", "observed_time_unix_nano"),
    "Span": ("start_time_unix_nano",),
    "NumberDataPoint": ("time_unix_nano",),
    "HistogramDataPoint": ("time_unix_nano",),
    "ExponentialHistogramDataPoint": ("time_unix_nano",),
    "SummaryDataPoint": ("time_unix_nano",),
}
# The levels that stay repeated, so that each time keeps its log record.
_LOGS = {
    "LogsData": ("resource_logs",),
    "ResourceLogs": ("scope_logs",),
    "ScopeLogs": ("log_records",),
}
_METRIC_DATA = ("gauge", "sum", "histogram", "exponential_histogram", "summary")
_EVENT_TIMES: dict[Signal, tuple[str, ...]] = {
    "logs": ("resource_logs.scope_logs.log_records.time_unix_nano",),
    "metrics": tuple(
        f"resource_metrics.scope_metrics.metrics.{kind}.data_points.time_unix_nano"
        for kind in _METRIC_DATA
    ),
    "traces": ("resource_spans.scope_spans.spans.start_time_unix_nano",),
}
_OBSERVED_TIMES = ("resource_logs.scope_logs.log_records.observed_time_unix_nano",)


class Times:
    """The times on the wire of a payload's records, unordered; none if they are hidden."""

    def __init__(self, signal: Signal, message: Message | None) -> None:
        self._signal = signal
        self._message = message

    @property
    def are_hidden(self) -> bool:
        """True if only a walk through the official classes finds the times."""
        return self._message is None

    def of_events(self) -> list[int]:
        """Time at which a log record or data point was made or a span began."""
        return self._joined(_EVENT_TIMES[self._signal])

    def of_observation(self) -> list[int]:
        """Time at which a log record was observed."""
        return self._joined(_OBSERVED_TIMES)

    def _joined(self, paths: tuple[str, ...]) -> list[int]:
        if self._message is None:
            return []
        # Sliced, since that makes a list at once.
        lists = [attrgetter(path)(self._message)[:] for path in paths]
        return lists[0] if len(lists) == 1 else list(chain(*lists))


def checked(signal: Signal, payload: bytes) -> Times:
    """Parse an export request; raises DecodeError if the official classes do."""
    try:
        return Times(signal, _TIMED[signal][0].FromString(payload))
    except DecodeError:
        # A time of another wire type is an unknown field to the official classes, but may be a
        # damaged list to those that join times.
        parsed(signal, 0, payload)
        return Times(signal, None)


def log_times(payload: bytes) -> Iterator[tuple[int, int]]:
    """Each log's time and observed time, in order; 0 for none."""
    message: Any = _APART["logs"][0].FromString(payload)
    for resource in message.resource_logs:
        for scope in resource.scope_logs:
            for record in scope.log_records:
                yield record.time_unix_nano, record.observed_time_unix_nano


def parsed(signal: Signal, level: int, body: bytes) -> Message:
    """Parse one message, from the request (level 0) to the record or metric (level 3).

    Its repeated messages are merged. Raises DecodeError if the official classes do.
    """
    return _CHECKING[signal][level].FromString(body)


def _classes(repeated: Mapping[str, tuple[str, ...]]) -> dict[Signal, list[type[Message]]]:
    pool = DescriptorPool()
    added: set[str] = set()
    for file in _FILES.values():
        _add(file, pool, repeated, added)
    return {
        signal: [
            GetMessageClass(pool.FindMessageTypeByName(f"{_FILES[signal].package}.{name}"))
            for name in row.messages
        ]
        for signal, row in TRAITS.items()
    }


def _add(
    file: FileDescriptor,
    pool: DescriptorPool,
    repeated: Mapping[str, tuple[str, ...]],
    added: set[str],
) -> None:
    if file.name in added:
        return
    added.add(file.name)
    for dependency in file.dependencies:
        _add(dependency, pool, repeated, added)
    changed = FileDescriptorProto()
    file.CopyToProto(changed)
    for message in changed.message_type:
        _make_lean(message, repeated.get(message.name, ()))
    pool.AddSerializedFile(changed.SerializeToString())


def _make_lean(message: DescriptorProto, repeated: tuple[str, ...]) -> None:
    for field in message.field:
        if field.type == FieldDescriptorProto.TYPE_MESSAGE:
            field.label = FieldDescriptorProto.LABEL_OPTIONAL
        if field.name in repeated:
            field.label = FieldDescriptorProto.LABEL_REPEATED
        if message.name == "Metric":
            # All metrics are merged into one, which has all kinds of data then.
            field.ClearField("oneof_index")
    if message.name == "Metric":
        del message.oneof_decl[:]
    for nested in message.nested_type:
        _make_lean(nested, ())


_CHECKING = _classes({})
_TIMED = _classes(_TIMES)
_APART = _classes(_LOGS)
