"""Metrics of what a meta knows of its whole installation; every meta has them.

Each comes from the database, so rules take the `max` over all metas. While the database does not
answer they are absent: the last values would pass for those of now.
"""

from collections.abc import Mapping
from functools import partial
from typing import TypeVar

from prometheus_client import Gauge

from meta.metrics import META

Labels = TypeVar("Labels", bound=tuple[str, ...])
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
QUOTA_USED = _gauge(
    "segplane_meta_quota_used_ratio",
    "Records of the month as a share of their limit, the largest share of any dataset or creator;"
    " 0 = no limit. Near 1: collectors will refuse exports; see segplane datasets usage.",
    ["limit"],
)
# With more than one tenant: of the 200 oldest, and of the others as `other`.
TENANT_RECORDS = _gauge(
    "segplane_tenant_records",
    "Records of a tenant in the current month (UTC), duplicates among them; absent without a second"
    " tenant. Near its quota: collectors will refuse its exports.",
    ["tenant"],
)
TENANT_INGESTED = _gauge(
    "segplane_tenant_ingested_bytes",
    "Bytes that collectors took for a tenant in the current month (UTC), by the ledger. A fast"
    " rise: more is stored and merged for it; segplane tenants usage has the months before.",
    ["tenant"],
)
TENANT_BYTES = _gauge(
    "segplane_tenant_bytes",
    "Compressed bytes of live segments of a tenant. A rise: more ingest than retention deletes.",
    ["tenant"],
)
TENANT_DATASETS = _gauge(
    "segplane_tenant_datasets",
    "Live datasets of a tenant. Near its share: it can create no more.",
    ["tenant"],
)
OF_TENANTS = (TENANT_RECORDS, TENANT_INGESTED, TENANT_BYTES, TENANT_DATASETS)
# With META_DATASET_METRICS: of the measured datasets, and of all others as `other`.
_OF_DATASETS = "the 100 datasets with most bytes, and of the others as other"
DATASET_FRESHNESS = _gauge(
    "segplane_dataset_freshness_seconds",
    f"Age of the oldest records that are committed and not visible yet; of {_OF_DATASETS}. A rise:"
    " segplane why says what holds them.",
    ["tenant", "dataset"],
)
DATASET_UNMERGED_BABIES = _gauge(
    "segplane_dataset_unmerged_babies",
    f"Baby segments with records that are not visible yet; of {_OF_DATASETS}. A rise: nurseries do"
    " not keep up.",
    ["tenant", "dataset"],
)
DATASET_UNMERGED_RECORDS = _gauge(
    "segplane_dataset_unmerged_records",
    f"Records of those baby segments, whichever dataset they are of; of {_OF_DATASETS}. A rise:"
    " nurseries do not keep up.",
    ["tenant", "dataset"],
)
DATASET_UNMERGED_BYTES = _gauge(
    "segplane_dataset_unmerged_bytes",
    f"Bytes of those baby segments; of {_OF_DATASETS}. A rise: nurseries do not keep up.",
    ["tenant", "dataset"],
)
DATASET_SEGMENTS = _gauge(
    "segplane_dataset_segments",
    f"Live segments; of {_OF_DATASETS}. A rise beside the bytes: merges lag.",
    ["tenant", "dataset"],
)
DATASET_BYTES = _gauge(
    "segplane_dataset_bytes",
    f"Compressed bytes of live segments; of {_OF_DATASETS}. A rise: more ingest than retention"
    " deletes.",
    ["tenant", "dataset"],
)
DATASET_AMPLIFICATION = _gauge(
    "segplane_dataset_write_amplification",
    "Bytes that nurseries and merges wrote for each byte that nurseries wrote, today and yesterday,"
    f" 0 = none; of {_OF_DATASETS}. A rise: merges rewrite more, at more cost.",
    ["tenant", "dataset"],
)
_TIER = "of a tier by compressed size: 0 is below 1 MiB, and tier k from 4^(k-1) MiB on"
DATASET_TIER_SEGMENTS = _gauge(
    "segplane_dataset_tier_segments",
    f"Live segments {_TIER}; of {_OF_DATASETS}. A rise of low tiers: merges lag.",
    ["tenant", "dataset", "tier"],
)
DATASET_TIER_BYTES = _gauge(
    "segplane_dataset_tier_bytes",
    f"Compressed bytes of live segments {_TIER}; of {_OF_DATASETS}. A rise of low tiers: merges"
    " lag.",
    ["tenant", "dataset", "tier"],
)
UNMERGED = (DATASET_UNMERGED_BABIES, DATASET_UNMERGED_RECORDS, DATASET_UNMERGED_BYTES)
OF_TIERS = (DATASET_TIER_SEGMENTS, DATASET_TIER_BYTES)
OF_DATASETS = (
    DATASET_FRESHNESS,
    *UNMERGED,
    DATASET_SEGMENTS,
    DATASET_BYTES,
    DATASET_AMPLIFICATION,
    *OF_TIERS,
)


def show(gauge: Gauge, values: Mapping[Labels, float]) -> None:
    """Set the values of a gauge by their labels, and remove those of other labels."""
    (family,) = gauge.collect()
    for sample in family.samples:
        before = tuple(sample.labels.values())
        if before not in values:
            gauge.remove(*before)
    for labels, value in values.items():
        gauge.labels(*labels).set(value)
