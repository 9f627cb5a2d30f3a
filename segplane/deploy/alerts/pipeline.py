"""Alerts of the way of a record: collectors, nurseries, merge workers."""

from segplane.deploy.alerts.alert import META_CAUSES, Alert, Severity

# Causes for which merged segments are not written.
NO_MERGES = (*META_CAUSES, "SegplaneNoNursery", "SegplaneStreamParked")
ALERTS = (
    Alert(
        "SegplaneRecordsLate",
        "max by (installation) (segplane_nursery_lag_seconds) > $late_secs",
        Severity.CRITICAL,
        "Acknowledged records are not visible yet; they are late, not lost.",
        "[`segplane why`](status.md#why-a-dataset-waits) names the stage that holds them. See the"
        " nursery's log, and whether it keeps up (`segplane_nursery_backlog_babies`).",
        caused_by=NO_MERGES,
    ),
    Alert(
        "SegplaneNurseryLags",
        "max by (installation, nursery) (segplane_meta_nursery_lag_seconds) > $late_secs",
        Severity.CRITICAL,
        "Baby segments of the shards of nursery {{ $labels.nursery }} wait for their merge.",
        "A nursery lags, or none has the shards (`unleased`): `segplane status` lists nurseries,"
        " `segplane freshness` the datasets that wait.",
        caused_by=(*NO_MERGES, "SegplaneRecordsLate"),
    ),
    Alert(
        "SegplaneStreamParked",
        "max by (installation) (segplane_nursery_parked_streams) > 0",
        Severity.WARNING,
        "A baby segment is missing or unreadable, and the records behind it are late.",
        "`segplane streams list` names the stream"
        " ([damage and repair](operations.md#damage-and-repair)).",
        hold="steady",
        caused_by=META_CAUSES,
    ),
    Alert(
        "SegplaneRecordsQuarantined",
        "sum by (installation, cause) (increase(segplane_nursery_quarantined_slices_total[$hour]))"
        " > 0",
        Severity.WARNING,
        "Records were quarantined, byte for byte, because of {{ $labels.cause }}.",
        "`segplane quarantine list` shows them; they are below `quarantine/` in the store.",
    ),
    Alert(
        "SegplaneDatasetWaits",
        "max by (installation) (segplane_nursery_waiting_datasets) > 0",
        Severity.WARNING,
        "A dataset is not merged: it has promoted columns of a later release, or more events than"
        " collectors counted. Nothing is lost.",
        "Event `dataset_waiting` in the nursery's log says which. Upgrade nurseries and merge"
        " workers, or see"
        " [excess events](operations.md#a-dataset-that-waits-for-excess-events).",
        hold="outage",
    ),
    Alert(
        "SegplaneMergeDebt",
        "max by (installation) (segplane_merge_debt_segments) > 0",
        Severity.WARNING,
        "Merges of some datasets are behind: records become visible later, and readers open more"
        " files.",
        "Start merge workers. Event `merges_behind` in meta's log names the datasets"
        " ([merges that fall behind](operations.md#merges-that-fall-behind)).",
        hold="steady",
        caused_by=(*META_CAUSES, "SegplaneNoMergeWorker"),
    ),
    Alert(
        "SegplaneMergesFail",
        'sum by (installation) (increase(segplane_merge_tasks_total{outcome="failed"}[$hour])) > 5',
        Severity.WARNING,
        "Merge tasks fail.",
        "`segplane tasks explain` and the worker's log have the reason.",
        caused_by=META_CAUSES,
    ),
    Alert(
        "SegplaneMergesDeferred",
        "sum by (installation)"
        ' (increase(segplane_merge_tasks_total{outcome="deferred"}[$hour])) > 0',
        Severity.WARNING,
        "Merge workers leave tasks to a later release of themselves.",
        "Upgrade merge workers: a dataset has promoted columns that this release does not support.",
    ),
    Alert(
        "SegplaneExportsRefused",
        "sum by (installation, outcome)"
        ' (rate(segplane_collector_exports_total{outcome!~"accepted|duplicate|empty"}[$rate])) > 0',
        Severity.WARNING,
        "Exports are refused: {{ $labels.outcome }}.",
        "The outcome is the reason: tokens, quotas, the store or meta ([refusals](collector.md)).",
        hold="steady",
        caused_by=META_CAUSES,
    ),
    Alert(
        "SegplaneCollectorFull",
        "max by (installation, instance)"
        " (segplane_collector_buffered_bytes / segplane_collector_buffer_limit_bytes) > 0.8",
        Severity.WARNING,
        "The buffer of a collector is nearly full; exporters will soon get UNAVAILABLE.",
        "Puts or commits are slow: `segplane_collector_flush_seconds` by step.",
        hold="steady",
        caused_by=META_CAUSES,
    ),
)
