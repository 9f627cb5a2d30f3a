"""Queries of metrics: the list of a dataset's, and the points of one over time.

A counter is a rate for each series first, since each has its own start; the rates of a group are
then summed up. A rate needs two points of a series within a step, so that its steps are long.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from segplane.gateway.console.kql_text import quoted_name, text_literal
from segplane.gateway.console.logs.histogram import STEPS_MS
from segplane.gateway.console.metrics.asked import MetricAsk

METRICS_MAX = 200
POINTS_MAX = 2_000
GROUP_CHARACTERS_MAX = 100
_STEPS, _RATE_STEPS = 60, 12
_SHORTEST_MS = 1_000
_MILLIS_NANOS = 10**6
_COUNTER, _HISTOGRAMS = "sum", ("histogram", "exponential_histogram", "summary")
_SERIES = "service_name, resource_text, scope_name, attributes_text"


@dataclass(frozen=True, slots=True)
class ListedMetric:
    """A metric of a dataset: what it is, and its points in the time range."""

    name: str
    type: str
    unit: str
    description: str
    is_monotonic: bool
    points: int

    @property
    def function(self) -> str:
        """Return the function that is usual for its kind."""
        is_counter = self.type == _COUNTER and self.is_monotonic
        return "rate" if is_counter or self.type in _HISTOGRAMS else "avg"


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """Value of a group in a step that begins at a time; None = it has none."""

    time: str
    group: str
    value: float | None


@dataclass(frozen=True, slots=True)
class MetricPoints:
    """Points by time and group; `is_cut` = there are more."""

    points: Sequence[MetricPoint]
    is_cut: bool


def list_query(ask: MetricAsk) -> str:
    """Return the query for what metrics there are: the one of a request, or those of its time.

    Those with most points come first.
    """
    return "\n".join(
        [
            _source(ask),
            "| summarize points = count(), is_monotonic = countif(is_monotonic == true) > 0,"
            " description = take_any(metric_description)"
            " by metric_name, metric_type, metric_unit",
            f"| sort by points desc, metric_name asc | take {METRICS_MAX + 1}",
        ]
    )


def points_query(ask: MetricAsk, metric: ListedMetric) -> str:
    """Return the query for the points of a metric over time."""
    function = ask.function or metric.function
    step = f"bin(timestamp, {step_of(ask, function)}ms)"
    names = [f"group{number}" for number in range(len(ask.groups))]
    groups = [
        f"{name} = substring(tostring({field.kql()}), 0, {GROUP_CHARACTERS_MAX})"
        for name, field in zip(names, ask.groups, strict=True)
    ]
    lines = [
        _source(ask),
        f"| where metric_type == {text_literal(metric.type)}",
        "| extend number = coalesce(value_double, todouble(value_long)), step = " + step,
    ]
    lines += [f"| extend {', '.join(groups)}"] if groups else []
    by = ", ".join(["step", *names])
    lines += _summaries(function, metric, by)
    order = ", ".join(f"{name} asc" for name in ("step", *names))
    lines.append(f"| project {by}, value | sort by {order} | take {POINTS_MAX + 1}")
    return "\n".join(lines)


def _summaries(function: str, metric: ListedMetric, by: str) -> list[str]:
    counted = "todouble(['count'])" if metric.type in _HISTOGRAMS else "number"
    if function == "mean":
        return [f"| summarize value = sum(['sum']) / todouble(sum(['count'])) by {by}"]
    if function != "rate":
        return [f"| summarize value = {function}(number) by {by}"]
    return [
        "| extend resource_text = tostring(resource_attributes),"
        f" attributes_text = tostring(attributes), counted = {counted}",
        "| summarize series_rate = rate(counted, start_timestamp, timestamp, flags),"
        f" points = count() by {by}, {_SERIES}",
        "| where points > 1",
        f"| summarize value = sum(series_rate) by {by}",
    ]


def step_of(ask: MetricAsk, function: str) -> int:
    """Return the milliseconds of a step."""
    length = (ask.range.end.nanos - ask.range.start.nanos) // _MILLIS_NANOS
    steps = _RATE_STEPS if function == "rate" else _STEPS
    fitting = (step for step in STEPS_MS if step >= _SHORTEST_MS and step * steps >= length)
    return next(fitting, STEPS_MS[-1])


def metrics_of(content: bytes) -> list[ListedMetric]:
    """Return the metrics of a result."""
    return [
        ListedMetric(
            row["metric_name"] or "",
            row["metric_type"] or "",
            row["metric_unit"] or "",
            row["description"] or "",
            bool(row["is_monotonic"]),
            int(row["points"]),
        )
        for row in json.loads(content)
    ]


def points_of(content: bytes, groups: int) -> MetricPoints:
    """Return the points of a result, by time."""
    rows: Sequence[Mapping[str, Any]] = json.loads(content)
    points = [
        MetricPoint(
            row["step"],
            ", ".join(row[f"group{number}"] or "(none)" for number in range(groups)),
            None if row["value"] is None else float(row["value"]),
        )
        for row in rows[:POINTS_MAX]
    ]
    return MetricPoints(points, len(rows) > POINTS_MAX)


def _source(ask: MetricAsk) -> str:
    lines = [
        f"{quoted_name(ask.dataset)}\n| where signal == 'metrics'",
        f"| where {ask.range.kql()}",
    ]
    if ask.name:
        lines.append(f"| where metric_name == {text_literal(ask.name)}")
    if ask.service:
        lines.append(f"| where service_name == {text_literal(ask.service)}")
    return "\n".join(lines)
