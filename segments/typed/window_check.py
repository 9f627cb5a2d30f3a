"""Checks the times of a logs payload against the window of a dataset's events, for the collector.

A log record without its own time, or without a deduplication key, is none that is refused.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from segments.deduplication import EventWindow
from segments.parquet.lineage import day_of
from segments.parquet.spec import PromotedColumn
from segments.typed.conformity import misfit, outside_reason
from segments.typed.payload_check import json_value

# A time of 0 or from here on counts as absent.
_TIME_END = 1 << 63


@dataclass(frozen=True, slots=True)
class WindowCheck:
    """The window of events, and the column of their deduplication key."""

    window: EventWindow
    column: PromotedColumn

    def is_inside(self, times: tuple[int, int] | None) -> bool:
        """Whether all events between two times (nanoseconds, inclusive) are inside; None = yes."""
        return times is None or (self._has(times[0]) and self._has(times[1]))

    def outside(self, payload: bytes) -> dict[int, tuple[str, str]]:
        """Find the records of a valid payload that are outside, by place, each with a reason."""
        reasons: dict[int, tuple[str, str]] = {}
        index = 0
        for resource in LogsData.FromString(payload).resource_logs:
            for scope in resource.scope_logs:
                shared = {"resource": resource.resource.attributes, "scope": scope.scope.attributes}
                for record in scope.log_records:
                    time = record.time_unix_nano
                    if not 0 < time < _TIME_END:
                        time = record.observed_time_unix_nano
                    attributes = shared.get(self.column.scope, record.attributes)
                    is_timed = 0 < time < _TIME_END
                    if is_timed and not self._has(time) and self._is_identified(attributes):
                        reasons[index] = outside_reason(time, self.window)
                    index += 1
        return reasons

    def _has(self, time_nanos: int) -> bool:
        return self.window.first_day <= day_of(time_nanos) <= self.window.last_day

    def _is_identified(self, attributes: Iterable[KeyValue]) -> bool:
        """Whether the column has a value: of attributes of one name the first counts."""
        for attribute in attributes:
            if attribute.key == self.column.attribute:
                value = json_value(attribute.value)
                return value is not None and not misfit(value, self.column.kql_type)
        return False
