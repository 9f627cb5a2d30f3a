"""Requests for metrics: everything that a person chose, as it is in the address."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from starlette.datastructures import QueryParams

from segplane.gateway.console.addresses import address_of, dataset_of, zone_of
from segplane.gateway.console.kql_text import NOT_IN_TEXTS
from segplane.gateway.console.logs.fields import LogField, parse_field
from segplane.gateway.console.time_range import TimeRange, parse_range
from segplane.gateway.http.refusals import QueryRefusal

METRICS_PATH = "/ui/metrics"
GROUPS_MAX = 3
_NAME_CHARACTERS_MAX = 255
# Functions over the points of a metric, with what they give; "" = that of the metric's kind.
FUNCTIONS: Mapping[str, str] = {
    "": "usual for the metric",
    "avg": "average",
    "min": "least",
    "max": "greatest",
    "sum": "sum of the points",
    "rate": "increase per second",
    "mean": "mean of a histogram",
}


@dataclass(frozen=True, slots=True)
class MetricAsk:
    """A dataset, a metric of it, and how it is shown; no name = the list of metrics."""

    dataset: str
    range: TimeRange
    name: str = ""
    function: str = ""
    groups: tuple[LogField, ...] = ()
    service: str = ""
    # The person's choice of UTC or local time, which scripts read.
    zone: str = ""

    def parameters(self, *without: str) -> list[tuple[str, str]]:
        """Return the parameters of its address that have a value, without some of them."""
        pairs = [("dataset", self.dataset), *self.range.parameters().items()]
        pairs += [("name", self.name), ("fn", self.function), ("service", self.service)]
        pairs += [("by", each.text()) for each in self.groups]
        pairs += [("tz", self.zone)]
        return [(name, value) for name, value in pairs if value and name not in without]

    def address(self) -> str:
        """Return its address."""
        return address_of(METRICS_PATH, self.parameters())

    def of_metric(self, name: str) -> "MetricAsk":
        """Return the request for another metric, by its usual function; "" = for the list."""
        return replace(self, name=name, function="", groups=())

    def at_range(self, range_: TimeRange) -> "MetricAsk":
        """Return the same request of another time."""
        return replace(self, range=range_)

    def without_group(self, field: LogField) -> "MetricAsk":
        """Return the request with one group less."""
        return replace(self, groups=tuple(each for each in self.groups if each != field))


def parse_metric_ask(parameters: QueryParams, now_nanos: int) -> MetricAsk:
    """Parse the parameters of an address. Raises QueryRefusal."""
    function = parameters.get("fn", "")
    if function not in FUNCTIONS:
        words = ", ".join(word for word in FUNCTIONS if word)
        raise QueryRefusal(f"fn is {function[:80]!r}, expected one of: {words}")
    return MetricAsk(
        dataset_of(parameters),
        parse_range(parameters, now_nanos),
        _text(parameters, "name"),
        function,
        _groups(parameters.getlist("by")),
        _text(parameters, "service"),
        zone_of(parameters),
    )


def _groups(texts: Sequence[str]) -> tuple[LogField, ...]:
    fields = tuple(dict.fromkeys(parse_field(text.strip()) for text in texts if text.strip()))
    if len(fields) > GROUPS_MAX:
        raise QueryRefusal(f"the address has {len(fields)} groups: at most {GROUPS_MAX} are read")
    return fields


def _text(parameters: QueryParams, name: str) -> str:
    text = parameters.get(name, "")
    if len(text) > _NAME_CHARACTERS_MAX or NOT_IN_TEXTS.search(text):
        raise QueryRefusal(f"{name} is {text[:80]!r}, expected at most 255 printable characters")
    return text
