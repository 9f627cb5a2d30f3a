"""Metrics of what a meta knows of its whole installation; every meta has them.

Each comes from the database, so rules take the `max` over all metas. While the database does not
answer they are absent: the last values would pass for those of now.
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
    "Certificates and access tokens that end within 14 days, or a third (certificate) or half"
    " (token) of their validity if that is less. Above 0: renew them.",
    ["kind"],
)
NURSERY_LAG = _gauge(
    "segplane_meta_nursery_lag_seconds",
    "Age of the oldest baby segment of the shards of a nursery, which is named by its first shard;"
    " unleased = of shards that no nursery has leased. A rise: a nursery lags, or none runs.",
    ["nursery"],
)
# With META_DATASET_METRICS: of the measured datasets, and of all others as `other`.
_OF_DATASETS = "the 100 datasets with most bytes, and of the others as other"
DATASET_FRESHNESS = _gauge(
    "segplane_dataset_freshness_seconds",
    f"Age of the oldest records that are committed and not visible yet; of {_OF_DATASETS}. A rise:"
    " segplane why says what holds them.",
    ["dataset"],
)
DATASET_UNMERGED_BABIES = _gauge(
    "segplane_dataset_unmerged_babies",
    f"Baby segments with records that are not visible yet; of {_OF_DATASETS}. A rise: nurseries do"
    " not keep up.",
    ["dataset"],
)
DATASET_UNMERGED_BYTES = _gauge(
    "segplane_dataset_unmerged_bytes",
    f"Bytes of those baby segments; of {_OF_DATASETS}. A rise: nurseries do not keep up.",
    ["dataset"],
)
DATASET_SEGMENTS = _gauge(
    "segplane_dataset_segments",
    f"Live segments; of {_OF_DATASETS}. A rise beside the bytes: merges lag.",
    ["dataset"],
)
DATASET_BYTES = _gauge(
    "segplane_dataset_bytes",
    f"Compressed bytes of live segments; of {_OF_DATASETS}. A rise: more ingest than retention"
    " deletes.",
    ["dataset"],
)
OF_DATASETS = (
    DATASET_FRESHNESS,
    DATASET_UNMERGED_BABIES,
    DATASET_UNMERGED_BYTES,
    DATASET_SEGMENTS,
    DATASET_BYTES,
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
