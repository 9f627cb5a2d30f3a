"""Dashboard of datasets and cost; META_DATASET_METRICS gives meta's metrics by dataset."""

from segplane.deploy.dashboards.panels import DashboardContent, lines, rate, stat

_OF_EACH, _EACH = "max by (tenant, dataset)", "{{tenant}} {{dataset}}"


def _of_each(metric: str) -> tuple[str, str]:
    return f"topk(20, {_OF_EACH} ({metric}{{$here}}))", _EACH


DATASETS = DashboardContent(
    "segplane-datasets",
    "Segplane: datasets and cost",
    "Storage, lateness and traffic of the 100 datasets with most bytes; all others are one.",
    {
        "Storage": (
            stat(
                "Live bytes",
                "bytes",
                "Compressed bytes of live segments of all datasets.",
                f"sum({_OF_EACH} (segplane_dataset_bytes{{$here}}))",
            ),
            stat(
                "Live segments",
                "none",
                "Live segments of all datasets.",
                f"sum({_OF_EACH} (segplane_dataset_segments{{$here}}))",
            ),
            lines(
                "Bytes",
                "bytes",
                "More ingest than retention deletes lets it rise.",
                _of_each("segplane_dataset_bytes"),
                is_stacked=True,
            ),
            lines(
                "Segments",
                "none",
                "A rise beside the bytes: merges lag.",
                _of_each("segplane_dataset_segments"),
                is_stacked=True,
            ),
            lines(
                "Mean size of a segment",
                "bytes",
                "Small segments: readers open more files.",
                (
                    f"{_OF_EACH} (segplane_dataset_bytes{{$here}})"
                    f" / {_OF_EACH} (segplane_dataset_segments{{$here}})",
                    _EACH,
                ),
            ),
        ),
        "Compaction": (
            lines(
                "Segments by tier",
                "none",
                "Live segments by compressed size: tier 0 is below 1 MiB, tier k from 4^(k-1) MiB"
                " on. A rise of low tiers: merges lag.",
                (
                    "sum by (tier) (max by (tenant, dataset, tier)"
                    " (segplane_dataset_tier_segments{$here}))",
                    "tier {{tier}}",
                ),
                is_stacked=True,
            ),
            lines(
                "Bytes by tier",
                "bytes",
                "Compressed bytes of the same segments.",
                (
                    "sum by (tier) (max by (tenant, dataset, tier)"
                    " (segplane_dataset_tier_bytes{$here}))",
                    "tier {{tier}}",
                ),
                is_stacked=True,
            ),
            lines(
                "Write amplification",
                "none",
                "Bytes that nurseries and merges wrote for each byte that nurseries wrote, today"
                " and yesterday.",
                _of_each("segplane_dataset_write_amplification"),
            ),
        ),
        "Lateness": (
            lines(
                "Freshness",
                "s",
                "Age of the oldest records that are committed and not visible yet.",
                _of_each("segplane_dataset_freshness_seconds"),
            ),
            lines(
                "Babies that wait",
                "none",
                "Baby segments with records that are not visible yet.",
                _of_each("segplane_dataset_unmerged_babies"),
            ),
            lines(
                "Records that wait",
                "none",
                "Records of those baby segments, whichever dataset they are of.",
                _of_each("segplane_dataset_unmerged_records"),
            ),
            lines(
                "Bytes that wait",
                "bytes",
                "Bytes of those baby segments.",
                _of_each("segplane_dataset_unmerged_bytes"),
            ),
        ),
        "Cost": (
            lines(
                "Quotas used",
                "percentunit",
                "Records of the month as a share of their limit, the largest of any dataset and"
                " creator.",
                ("max by (limit) (segplane_meta_quota_used_ratio{$here})", "{{limit}}"),
            ),
            lines(
                "Bytes written and read",
                "Bps",
                "Ingested, read by nurseries, rewritten by merges, scanned by queries.",
                (rate("segplane_collector_export_bytes_total", "installation"), "ingested"),
                (rate("segplane_nursery_bytes_read_total", "installation"), "read by nurseries"),
                (rate("segplane_merge_bytes_total", "installation"), "rewritten by merges"),
                (rate("segplane_gateway_scanned_bytes_total", "installation"), "scanned"),
                (rate("segplane_janitor_scrubbed_bytes_total", "installation"), "scrubbed"),
            ),
            lines(
                "CPU by kind of process",
                "none",
                "Cores; the dataset `other` and idle time are in it.",
                (rate("process_cpu_seconds_total", "process", ',job="segplane"'), "{{process}}"),
                is_stacked=True,
            ),
            lines(
                "Table metadata",
                "Bps",
                "Bytes of Iceberg's metadata that gateways wrote.",
                (rate("segplane_gateway_written_bytes_total", "installation"), "written"),
            ),
        ),
    },
)
