"""For each alert: series by which it fires, and series by which it is silent.

Values are in promtool's notation, a value each `step` minutes: `0+1x60` rises 60 times by 1, `5x60`
stays.
Gauges of the database have two metas, whose alert is one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

Series = Mapping[str, str]
# Windows of days have a value each half an hour.
_LONG_STEP = 30
_DAY = 48
_THREE_DAYS = 3 * 1440
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


def _of(metric: str, labels: str = "", instance: str = "a") -> str:
    """Return a series of one process of the installation."""
    others = f",{labels}" if labels else ""
    return f'{metric}{{installation="eu",instance="{instance}",job="segplane"{others}}}'


def _of_metas(metric: str, values: str, labels: str = "") -> dict[str, str]:
    """Return the series of a gauge of the database, which each of two metas has."""
    return {_of(metric, labels, meta): values for meta in ("m1", "m2")}


def _gauge(alert: str, metric: str, bad: str, good: str, labels: str = "") -> RuleCase:
    """Return the case of a gauge of one process, whose labels the alert does not have."""
    return RuleCase(alert, {_of(metric, labels): bad}, {_of(metric, labels): good})


def _of_database(
    alert: str, metric: str, bad: str, good: str, label: tuple[str, str] | None = None
) -> RuleCase:
    """Return the case of a gauge of the database; the alert has its label."""
    labels = f'{label[0]}="{label[1]}"' if label else ""
    firing, silent = _of_metas(metric, bad, labels), _of_metas(metric, good, labels)
    return RuleCase(alert, firing, silent, labels=dict([label]) if label else {})


def _counter(
    alert: str, metric: str, labels: str, shown: Mapping[str, str], bad: str = _ONE
) -> RuleCase:
    """Return the case of an increase within an hour."""
    series = _of(metric, labels)
    return RuleCase(alert, {series: bad}, {series: _ZERO}, 60, shown)


def _rate(alert: str, metric: str, labels: str, shown: Mapping[str, str]) -> RuleCase:
    """Return the case of more than ten events a second."""
    series = _of(metric, labels)
    return RuleCase(alert, {series: "0+900x10"}, {series: "0+300x10"}, labels=shown)


def _none(alert: str, metric: str) -> RuleCase:
    """Return the case of a kind of process of which none is there."""
    other = {_of("segplane_build_info", instance="b"): "1x10"}
    return RuleCase(alert, other, {**other, _of(metric): "0x10"})


_OUTCOME = "segplane_collector_exports_total"
CASES = (
    _gauge("SegplaneRecordsLate", "segplane_nursery_lag_seconds", "400x10", "20x10"),
    _of_database(
        "SegplaneNurseryLags",
        "segplane_meta_nursery_lag_seconds",
        "400x10",
        "20x10",
        ("nursery", "unleased"),
    ),
    _gauge("SegplaneStreamParked", "segplane_nursery_parked_streams", "1x10", "0x7 1x3"),
    _counter(
        "SegplaneRecordsQuarantined",
        "segplane_nursery_quarantined_slices_total",
        'cause="undecodable"',
        {"cause": "undecodable"},
    ),
    _gauge("SegplaneDatasetWaits", "segplane_nursery_waiting_datasets", "2x10", "0x9 1"),
    _counter("SegplaneExcessAllowed", "segplane_registration_allowed_excess_events_total", "", {}),
    _of_database("SegplaneMergeDebt", "segplane_merge_debt_segments", "12000x10", "0x10"),
    _counter(
        "SegplaneMergesFail",
        "segplane_merge_tasks_total",
        'outcome="failed"',
        {},
        "0x20 0+1x40",
    ),
    _counter("SegplaneMergesDeferred", "segplane_merge_tasks_total", 'outcome="deferred"', {}),
    RuleCase(
        "SegplaneExportsRefused",
        {_of(_OUTCOME, 'outcome="unauthenticated",signal="logs"'): "0+1x20"},
        {
            _of(_OUTCOME, 'outcome="unauthenticated",signal="logs"'): "0x20",
            _of(_OUTCOME, 'outcome="accepted",signal="logs"'): "0+100x20",
            _of(_OUTCOME, 'outcome="duplicate",signal="logs"'): "0+1x20",
        },
        20,
        {"outcome": "unauthenticated"},
    ),
    RuleCase(
        "SegplaneCollectorFull",
        {
            _of("segplane_collector_buffered_bytes"): "90x10",
            _of("segplane_collector_buffer_limit_bytes"): "100x10",
        },
        {
            _of("segplane_collector_buffered_bytes"): "70x10",
            _of("segplane_collector_buffer_limit_bytes"): "100x10",
        },
        labels={"instance": "a"},
    ),
    _none("SegplaneNoMeta", "segplane_meta_deletion_held"),
    _none("SegplaneNoCollector", "segplane_collector_buffered_bytes"),
    _none("SegplaneNoNursery", "segplane_nursery_lag_seconds"),
    _none("SegplaneNoMergeWorker", "segplane_merge_bytes_total"),
    _none("SegplaneNoJanitor", "segplane_janitor_braked_datasets"),
    RuleCase(
        "SegplaneNothingScraped",
        {'up{job="others",instance="a"}': "1x10"},
        {_of("up"): "0x10"},
        labels={"job": "segplane"},
        has_installation=False,
    ),
    RuleCase(
        "SegplaneTargetDown",
        {_of("up"): "1x5 0x5"},
        {_of("up"): "1x9 0"},
        labels={"instance": "a", "job": "segplane"},
    ),
    RuleCase(
        "SegplaneClockOff",
        {_of("segplane_clock_skew_seconds"): "-45x10"},
        {_of("segplane_clock_skew_seconds"): "-2x10"},
        labels={"instance": "a"},
    ),
    _rate(
        "SegplaneLibraryMessages",
        "segplane_library_messages_total",
        'level="error"',
        {"instance": "a"},
    ),
    _rate(
        "SegplaneMetricsRequestsFail",
        "segplane_metrics_request_faults_total",
        "",
        {"instance": "a", "job": "segplane"},
    ),
    RuleCase(
        "SegplaneQueriesRefused",
        {_of("segplane_gateway_queries_total", 'outcome="QueryStopped"'): "0+1x30"},
        {
            _of("segplane_gateway_queries_total", 'outcome="QueryStopped"'): "0x30",
            _of("segplane_gateway_queries_total", 'outcome="done"'): "0+10x30",
        },
        30,
        {"outcome": "QueryStopped"},
    ),
    _counter(
        "SegplaneJanitorFails",
        "segplane_janitor_chore_failures_total",
        'chore="scrub"',
        {"chore": "scrub"},
        "0x20 0+1x40",
    ),
    _gauge("SegplaneObjectsDamaged", "segplane_janitor_damaged_objects", "1x10", "0x10"),
    RuleCase(
        "SegplaneScrubStalls",
        {
            _of("segplane_janitor_scrubbed_bytes_total"): f"0x{3 * _DAY}",
            _of("segplane_nursery_segments_total", instance="b"): f"0+1x{3 * _DAY}",
        },
        {
            _of("segplane_janitor_scrubbed_bytes_total"): f"0+1000x{3 * _DAY}",
            _of("segplane_nursery_segments_total", instance="b"): f"0+1x{3 * _DAY}",
        },
        _THREE_DAYS,
        {"instance": "a", "job": "segplane"},
        step=_LONG_STEP,
    ),
    _gauge("SegplaneStoreClockOff", "segplane_store_clock_skew_seconds", "300x10", "-20x10"),
    _of_database(
        "SegplaneDatabaseNeedsOperator",
        "segplane_meta_database_causes",
        "1x10",
        "0x10",
        ("cause", "disk_full"),
    ),
    _of_database("SegplaneWitnessAmiss", "segplane_meta_witness_state", "3x10", "1x10"),
    _of_database("SegplaneDeletionHeld", "segplane_meta_deletion_held", "1x10", "0x10"),
    _gauge("SegplaneDeletionBraked", "segplane_janitor_braked_datasets", "1x10", "0x10"),
    _of_database(
        "SegplaneCredentialEnds",
        "segplane_meta_expiring",
        "1x10",
        "0x10",
        ("kind", "access_token"),
    ),
    _counter(
        "SegplaneMetaJobFails",
        "segplane_meta_background_failures_total",
        'exported_job="expiry"',
        {"exported_job": "expiry"},
        "0x20 0+1x40",
    ),
    RuleCase(
        "SegplaneMetaJobHangs",
        {_of("segplane_meta_background_success_timestamp_seconds", 'exported_job="pins"'): "0x20"},
        {
            _of("segplane_meta_background_success_timestamp_seconds", 'exported_job="pins"'): (
                "0+60x20"
            )
        },
        20,
        {"instance": "a", "exported_job": "pins"},
    ),
    RuleCase(
        "SegplaneCallsSlow",
        {
            _of("segplane_rpc_seconds_bucket", 'rpc="CommitOffset",code="OK",le="1"'): "0+50x20",
            _of("segplane_rpc_seconds_bucket", 'rpc="CommitOffset",code="OK",le="5"'): "0+60x20",
            _of("segplane_rpc_seconds_bucket", 'rpc="CommitOffset",code="OK",le="+Inf"'): "0+60x20",
            _of("segplane_rpc_seconds_count", 'rpc="CommitOffset",code="OK"'): "0+60x20",
        },
        {
            # Two slow calls in ten minutes are too few to be judged.
            _of("segplane_rpc_seconds_bucket", 'rpc="CommitOffset",code="OK",le="1"'): "0x20",
            _of("segplane_rpc_seconds_bucket", 'rpc="CommitOffset",code="OK",le="+Inf"'): "0+1x20",
            _of("segplane_rpc_seconds_count", 'rpc="CommitOffset",code="OK"'): "0+1x20",
        },
        20,
        {"rpc": "CommitOffset"},
    ),
    _rate(
        "SegplaneCallsRestricted",
        "segplane_restricted_calls_total",
        'who="stranger",why="pace"',
        {"who": "stranger", "why": "pace"},
    ),
    _counter(
        "SegplaneDatabaseClockSteps",
        "segplane_meta_clock_steps_total",
        'direction="forward"',
        {"direction": "forward"},
    ),
    RuleCase(
        "SegplanePinsHoldStorage",
        {
            **_of_metas("segplane_pin_held_bytes", "0+1000x20"),
            **_of_metas("segplane_pin_age_seconds", "0+1800x20"),
        },
        {
            # Held for as long, but not more.
            **_of_metas("segplane_pin_held_bytes", "1000x20"),
            **_of_metas("segplane_pin_age_seconds", "0+1800x20"),
        },
        480,
        step=_LONG_STEP,
    ),
    RuleCase(
        "SegplaneFreshnessBudgetBurnsFast",
        _of_metas("segplane_meta_nursery_lag_seconds", "10x90 300x40", 'nursery="0"'),
        # A late minute in two hours.
        _of_metas("segplane_meta_nursery_lag_seconds", "10x100 300 10x30", 'nursery="0"'),
        120,
    ),
    RuleCase(
        "SegplaneFreshnessBudgetBurnsSlowly",
        _of_metas("segplane_meta_nursery_lag_seconds", f"10x{2 * _DAY} 300x{_DAY}", 'nursery="0"'),
        _of_metas("segplane_meta_nursery_lag_seconds", f"10x{3 * _DAY}", 'nursery="0"'),
        _THREE_DAYS,
        step=_LONG_STEP,
    ),
    RuleCase(
        "SegplaneExportBudgetBurnsFast",
        {
            _of(_OUTCOME, 'outcome="accepted",signal="logs"'): "0+100x120",
            _of(_OUTCOME, 'outcome="unavailable",signal="logs"'): "0x60 0+5x60",
        },
        {
            _of(_OUTCOME, 'outcome="accepted",signal="logs"'): "0+100x120",
            # The sender's fault.
            _of(_OUTCOME, 'outcome="unauthenticated",signal="logs"'): "0+50x120",
            _of(_OUTCOME, 'outcome="unavailable",signal="logs"'): "0x120",
        },
        120,
    ),
    RuleCase(
        "SegplaneExportBudgetBurnsSlowly",
        {
            _of(_OUTCOME, 'outcome="accepted",signal="logs"'): f"0+998x{3 * _DAY}",
            _of(_OUTCOME, 'outcome="unavailable",signal="logs"'): f"0+2x{3 * _DAY}",
        },
        {
            _of(_OUTCOME, 'outcome="accepted",signal="logs"'): f"0+10000x{3 * _DAY}",
            _of(_OUTCOME, 'outcome="unavailable",signal="logs"'): f"0+1x{3 * _DAY}",
        },
        _THREE_DAYS,
        step=_LONG_STEP,
    ),
)
