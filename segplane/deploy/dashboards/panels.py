"""Contents of a dashboard, without Grafana's SDK: rows, panels and their queries.

A query names the chosen installations as `$here`, a matcher of labels, and its window as `$window`.
"""

from dataclasses import dataclass, field

_HERE = 'installation=~"$installation"'
_WINDOW = "$__rate_interval"


@dataclass(frozen=True, slots=True)
class Query:
    """A query in PromQL; `legend` names its series by their labels, such as `{{signal}}`."""

    text: str
    legend: str

    @property
    def expression(self) -> str:
        """The query with Grafana's own variables."""
        return self.text.replace("$here", _HERE).replace("$window", _WINDOW)


@dataclass(frozen=True, slots=True)
class PanelContent:
    """A diagram over time, or with `is_stat` a number; `unit` is one of Grafana's."""

    title: str
    unit: str
    description: str
    queries: tuple[Query, ...]
    is_stat: bool = False
    is_stacked: bool = False
    width: int = 8


@dataclass(frozen=True, slots=True)
class DashboardContent:
    """A dashboard; `rows` has its panels by the title of their row."""

    uid: str
    title: str
    description: str
    rows: dict[str, tuple[PanelContent, ...]] = field(default_factory=dict)


def stat(title: str, unit: str, description: str, text: str) -> PanelContent:
    """Return a panel with the last value of a query."""
    return PanelContent(title, unit, description, (Query(text, title),), is_stat=True, width=4)


def lines(
    title: str, unit: str, description: str, *queries: tuple[str, str], is_stacked: bool = False
) -> PanelContent:
    """Return a diagram of queries, each with the legend of its series."""
    pairs = tuple(Query(*query) for query in queries)
    return PanelContent(title, unit, description, pairs, is_stacked=is_stacked)


def rate(metric: str, by: str, matchers: str = "") -> str:
    """Return the query of a counter's events a second, by labels."""
    return f"sum by ({by}) (rate({metric}{{$here{matchers}}}[$window]))"


def quantile(share: float, metric: str, by: str) -> str:
    """Return the query of a quantile of a histogram, by labels."""
    return (
        f"histogram_quantile({share}, sum by ({by}, le) (rate({metric}_bucket{{$here}}[$window])))"
    )


def mean(metric: str, by: str) -> str:
    """Return the query of the mean of a histogram, by labels."""
    total, count = rate(f"{metric}_sum", by), rate(f"{metric}_count", by)
    return f"{total} / {count}"
