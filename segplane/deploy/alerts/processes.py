"""Alerts of processes: that none of a kind runs, and what each meets."""

from segplane.deploy.alerts.alert import META_CAUSES, Alert, Severity


def _none(kind: str, metric: str, severity: Severity, summary: str, name: str) -> Alert:
    """Return the alert that no process of a kind is scraped, while others are.

    `metric` is one that only processes of this kind have, from their start on.
    """
    return Alert(
        name,
        f"group by (installation) (segplane_build_info) unless group by (installation) ({metric})",
        severity,
        summary,
        f"`segplane status` lists the processes that have reported. See the supervisor and the log"
        f" of each {kind}; if one runs, see whether Prometheus reaches its metrics port.",
        hold="outage",
    )


NONE_OF_A_KIND = (
    _none(
        "meta",
        "segplane_meta_deletion_held",
        Severity.CRITICAL,
        "No meta is scraped: nothing is committed, merged or found.",
        "SegplaneNoMeta",
    ),
    _none(
        "collector",
        "segplane_collector_buffered_bytes",
        Severity.CRITICAL,
        "No collector is scraped: exports are not taken.",
        "SegplaneNoCollector",
    ),
    _none(
        "nursery",
        "segplane_nursery_lag_seconds",
        Severity.CRITICAL,
        "No nursery is scraped: records do not become visible.",
        "SegplaneNoNursery",
    ),
    _none(
        "merge worker",
        "segplane_merge_bytes_total",
        Severity.WARNING,
        "No merge worker is scraped: segments stay small, and readers open more files.",
        "SegplaneNoMergeWorker",
    ),
    _none(
        "janitor",
        "segplane_janitor_braked_datasets",
        Severity.WARNING,
        "No janitor is scraped: merges are not planned, and nothing is deleted.",
        "SegplaneNoJanitor",
    ),
)
ALERTS = (
    *NONE_OF_A_KIND,
    Alert(
        "SegplaneNothingScraped",
        'absent(up{job="segplane"})',
        Severity.CRITICAL,
        "Prometheus has no target of job segplane.",
        "See the scrape configuration, and the file of targets that it reads.",
        hold="outage",
    ),
    Alert(
        "SegplaneTargetDown",
        'up{job="segplane"} == 0',
        Severity.WARNING,
        "The metrics of {{ $labels.instance }} cannot be read.",
        "The process has ended or hangs, or its port is not reached: `segplane status`.",
        hold="outage",
        caused_by=tuple(alert.name for alert in NONE_OF_A_KIND),
    ),
    Alert(
        "SegplaneClockOff",
        "max by (installation, instance) (abs(segplane_clock_skew_seconds)) > 30",
        Severity.WARNING,
        "The clock of {{ $labels.instance }} is off: ages stay right, but records without a time"
        " are stamped wrongly.",
        "Time synchronisation of that machine.",
    ),
    Alert(
        "SegplaneLibraryMessages",
        "sum by (installation, instance) (rate(segplane_library_messages_total[$rate])) > 10",
        Severity.WARNING,
        "Libraries of {{ $labels.instance }} complain: somebody sends malformed requests, or a"
        " library meets faults.",
        "Event `library_message` names the line of the library's code and the class of an error,"
        " never its text. `GRPC_VERBOSITY=ERROR` lets gRPC's core log again. Errors of Spark's JVM"
        " have the event `spark_message`.",
    ),
    Alert(
        "SegplaneMetricsRequestsFail",
        "rate(segplane_metrics_request_faults_total[$rate]) > 10",
        Severity.WARNING,
        "Requests to the metrics port of {{ $labels.instance }} fail.",
        "A scanner of ports, or a scraper without TLS. Let only Prometheus reach the port.",
    ),
    Alert(
        "SegplaneQueriesRefused",
        "sum by (installation, outcome) (rate(segplane_gateway_queries_total"
        '{outcome=~"QueryStopped|TooManyQueries|InternalError"}[$queries])) > 0',
        Severity.WARNING,
        "Queries over HTTP reach a limit or fail: {{ $labels.outcome }}.",
        "`GATEWAY_QUERY_*` in [settings](settings.md), `segplane_gateway_query_seconds`,"
        " `segplane_gateway_running_queries`, and the gateway's log.",
        hold="outage",
        caused_by=META_CAUSES,
    ),
    Alert(
        "SegplaneJanitorFails",
        "sum by (installation, chore) (increase(segplane_janitor_chore_failures_total[$hour])) > 3",
        Severity.WARNING,
        "Job {{ $labels.chore }} of the janitor fails, and its work is not done.",
        "Event `chore_failed` in the janitor's log.",
        caused_by=META_CAUSES,
    ),
    Alert(
        "SegplaneStoreClockOff",
        "max by (installation) (abs(segplane_store_clock_skew_seconds)) > 30",
        Severity.WARNING,
        "The clock of the object store is off: ages stay right, but times of objects mislead.",
        "Time synchronisation of the store.",
    ),
)
