"""Series by which an alert fires, and series by which it is silent.

Values are in promtool's notation, a value each `step` minutes: `0+1x60` rises 60 times by 1, `5x60`
stays.
Gauges of the database have two metas, whose alert is one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

Series = Mapping[str, str]
# Windows of days have a value each half an hour.
LONG_STEP = 30
DAY = 48
THREE_DAYS = 3 * 1440
# A counter that stays 0, and one that counts its first event, for which the increase is 1.
_ZERO, _ONE = "0x70", "0x30 1x40"


@dataclass(frozen=True)
class RuleCase:
    """The alert fires after `minutes` with `labels`, those of its rule apart."""

    alert: str
    firing: Series
    silent: Series
    minutes: int = 10
    labels: Mapping[str, str] = field(default_factory=dict)
    has_installation: bool = True
    step: int = 1


def of(metric: str, labels: str = "", instance: str = "a") -> str:
    """Return a series of one process of the installation."""
    others = f",{labels}" if labels else ""
    return f'{metric}{{installation="eu",instance="{instance}",job="segplane"{others}}}'


def of_metas(metric: str, values: str, labels: str = "") -> dict[str, str]:
    """Return the series of a gauge of the database, which each of two metas has."""
    return {of(metric, labels, meta): values for meta in ("m1", "m2")}


def gauge_case(alert: str, metric: str, bad: str, good: str, labels: str = "") -> RuleCase:
    """Return the case of a gauge of one process, whose labels the alert does not have."""
    return RuleCase(alert, {of(metric, labels): bad}, {of(metric, labels): good})


def database_case(
    alert: str, metric: str, bad: str, good: str, label: tuple[str, str] | None = None
) -> RuleCase:
    """Return the case of a gauge of the database; the alert has its label."""
    labels = f'{label[0]}="{label[1]}"' if label else ""
    firing, silent = of_metas(metric, bad, labels), of_metas(metric, good, labels)
    return RuleCase(alert, firing, silent, labels=dict([label]) if label else {})


def counter_case(
    alert: str, metric: str, labels: str, shown: Mapping[str, str], bad: str = _ONE
) -> RuleCase:
    """Return the case of an increase within an hour."""
    the_series = of(metric, labels)
    return RuleCase(alert, {the_series: bad}, {the_series: _ZERO}, 60, shown)


def rate_case(alert: str, metric: str, labels: str, shown: Mapping[str, str]) -> RuleCase:
    """Return the case of more than ten events a second."""
    the_series = of(metric, labels)
    return RuleCase(alert, {the_series: "0+900x10"}, {the_series: "0+300x10"}, labels=shown)


def none_case(alert: str, metric: str) -> RuleCase:
    """Return the case of a kind of process of which none is there."""
    other = {of("segplane_build_info", instance="b"): "1x10"}
    return RuleCase(alert, other, {**other, of(metric): "0x10"})


EXPORTS = "segplane_collector_exports_total"
