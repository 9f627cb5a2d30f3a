"""Metrics of what a meta knows of its whole installation; every meta has them.

Each comes from the database, so rules take the `max` over all metas.
"""

from collections.abc import Mapping
from functools import partial

from prometheus_client import Gauge

from meta.metrics import META

_gauge = partial(Gauge, registry=META)
EXPIRY = _gauge(
    "segplane_meta_expiry_timestamp_seconds",
    "Unix times of the nearest five ends of a kind: certificates of processes that report, access"
    " tokens. Within days: renew it, segplane status and segplane access list name it.",
    ["kind", "rank"],
)
EXPIRING = _gauge(
    "segplane_meta_expiring",
    "Certificates and access tokens that end within 14 days. Above 0: renew them.",
    ["kind"],
)


def show(gauge: Gauge, values: Mapping[tuple[str, ...], float]) -> None:
    """Set the values of a gauge by their labels, and remove those of other labels."""
    (family,) = gauge.collect()
    for sample in family.samples:
        labels = tuple(sample.labels.values())
        if labels not in values:
            gauge.remove(*labels)
    for labels, value in values.items():
        gauge.labels(*labels).set(value)
