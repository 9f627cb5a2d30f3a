"""Dashboard of a record's way from its export to a compacted segment."""

from segplane.deploy.dashboards.panels import DashboardContent, lines, mean, quantile, rate, stat

PIPELINE = DashboardContent(
    "segplane-pipeline",
    "Segplane: from export to compacted",
    "Exports, flushes, merges by nurseries and compactions by merge workers.",
    {
        "Overview": (
            stat(
                "Oldest invisible record",
                "s",
                "Age of the oldest record that is committed and not visible yet.",
                "max(segplane_meta_nursery_lag_seconds{$here})",
            ),
            stat(
                "Records accepted",
                "ops",
                "Records of acknowledged exports a second.",
                "sum(rate(segplane_collector_records_total{$here}[$window]))",
            ),
            stat(
                "Exports refused",
                "ops",
                "Exports a second that were not accepted.",
                "sum(rate(segplane_collector_exports_total"
                '{$here,outcome!~"accepted|duplicate|empty"}[$window]))',
            ),
            stat(
                "Babies that wait",
                "none",
                "Committed baby segments that are not merged yet.",
                "sum(segplane_nursery_backlog_babies{$here})",
            ),
            stat(
                "Merge debt",
                "none",
                "Segments that wait for a merge, most of a dataset; 0 below the bound.",
                "max(segplane_merge_debt_segments{$here})",
            ),
            stat(
                "Parked streams",
                "none",
                "Streams that wait at a missing or unreadable baby segment.",
                "sum(segplane_nursery_parked_streams{$here})",
            ),
        ),
        "Collectors": (
            lines(
                "Exports by outcome",
                "ops",
                "A rise of others than accepted, duplicate, empty: they are refused.",
                (rate("segplane_collector_exports_total", "outcome"), "{{outcome}}"),
            ),
            lines(
                "Records by signal",
                "ops",
                "Records of acknowledged exports.",
                (rate("segplane_collector_records_total", "signal"), "{{signal}}"),
                is_stacked=True,
            ),
            lines(
                "Bytes by signal",
                "Bps",
                "Decompressed bytes of accepted exports.",
                (rate("segplane_collector_export_bytes_total", "signal"), "{{signal}}"),
                is_stacked=True,
            ),
            lines(
                "Steps of a flush",
                "s",
                "put: the object store; commit: meta.",
                (quantile(0.99, "segplane_collector_flush_seconds", "step"), "{{step}} p99"),
                (mean("segplane_collector_flush_seconds", "step"), "{{step}} mean"),
            ),
            lines(
                "Buffer",
                "bytes",
                "Bytes of exports that are not yet acknowledged. Near the limit exports get"
                " UNAVAILABLE.",
                ("segplane_collector_buffered_bytes{$here}", "{{instance}}"),
                ("min(segplane_collector_buffer_limit_bytes{$here})", "limit"),
            ),
            lines(
                "Records that are dropped or throttled",
                "ops",
                "Malformed records, records out of the time window, exports over a token's limit.",
                (
                    rate("segplane_collector_rejected_records_total", "signal"),
                    "malformed {{signal}}",
                ),
                (
                    rate("segplane_collector_out_of_window_records_total", "signal"),
                    "out of window {{signal}}",
                ),
                (rate("segplane_collector_throttled_exports_total", "limit"), "over {{limit}}"),
            ),
        ),
        "Nurseries": (
            lines(
                "Lag",
                "s",
                "Age of the oldest baby segment, by nursery; unleased: of shards without one.",
                (
                    "max by (nursery) (segplane_meta_nursery_lag_seconds{$here})",
                    "nursery {{nursery}}",
                ),
            ),
            lines(
                "Records merged",
                "ops",
                "Records that became rows, and duplicates that did not.",
                (rate("segplane_nursery_records_total", "installation"), "rows"),
                (rate("segplane_nursery_duplicates_total", "installation"), "duplicates"),
            ),
            lines(
                "Steps of a cycle",
                "s",
                "A rise of job: more to merge, or the store is slow; of register: meta is.",
                (quantile(0.99, "segplane_nursery_cycle_seconds", "step"), "{{step}} p99"),
                (mean("segplane_nursery_cycle_seconds", "step"), "{{step}} mean"),
            ),
            lines(
                "Babies that wait, are reaped",
                "none",
                "Committed baby segments that are not merged, and those deleted a second.",
                ("sum(segplane_nursery_backlog_babies{$here})", "wait"),
                (rate("segplane_nursery_reaped_babies_total", "installation"), "reaped a second"),
            ),
            lines(
                "Bytes read",
                "Bps",
                "Above twice what collectors write: jobs are repeated, or nurseries race.",
                (rate("segplane_nursery_bytes_read_total", "installation"), "read"),
            ),
            lines(
                "Quarantine, races, waiting datasets",
                "none",
                "Payload slices quarantined and registrations lost a second; datasets that wait.",
                (rate("segplane_nursery_quarantined_slices_total", "cause"), "{{cause}}"),
                (rate("segplane_nursery_races_lost_total", "installation"), "races lost"),
                ("sum(segplane_nursery_waiting_datasets{$here})", "waiting datasets"),
            ),
        ),
        "Merge workers": (
            lines(
                "Merge tasks by outcome",
                "ops",
                "Failed: the worker's log says why. Lost: claims expire too early.",
                (rate("segplane_merge_tasks_total", "outcome"), "{{outcome}}"),
            ),
            lines(
                "Bytes written",
                "Bps",
                "Compressed bytes that merges wrote.",
                (rate("segplane_merge_bytes_total", "installation"), "written"),
            ),
            lines(
                "Segments registered by nurseries",
                "ops",
                "Merged segments that merge workers then compact.",
                (rate("segplane_nursery_segments_total", "installation"), "registered"),
            ),
        ),
        "Seen from outside": (
            lines(
                "Canary by result",
                "none",
                "Records within an hour. Others than arrived: `segplane canary` names them.",
                (
                    "sum by (result) (increase(segplane_canary_records_total{$here}[1h]))",
                    "{{result}}",
                ),
            ),
            lines(
                "Canary by step",
                "s",
                "From sending a record until it was acknowledged, visible, merged.",
                (quantile(0.99, "segplane_canary_seconds", "step"), "{{step}} p99"),
                (mean("segplane_canary_seconds", "step"), "{{step}} mean"),
            ),
            lines(
                "Findings of fsck",
                "none",
                "Problems that the last run of each check found.",
                ("max by (check, kind) (segplane_fsck_problems{$here})", "{{check}} {{kind}}"),
            ),
        ),
    },
)
