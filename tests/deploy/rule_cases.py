"""The case of each alert."""

from tests.deploy.budget_cases import BUDGET_CASES
from tests.deploy.finding_cases import FINDING_CASES
from tests.deploy.rule_case import (
    DAY,
    EXPORTS,
    LONG_STEP,
    THREE_DAYS,
    RuleCase,
    counter_case,
    database_case,
    gauge_case,
    none_case,
    of,
    of_metas,
    rate_case,
)

CASES = (
    gauge_case("SegplaneRecordsLate", "segplane_nursery_lag_seconds", "400x10", "20x10"),
    database_case(
        "SegplaneNurseryLags",
        "segplane_meta_nursery_lag_seconds",
        "400x10",
        "20x10",
        ("nursery", "unleased"),
    ),
    gauge_case("SegplaneStreamParked", "segplane_nursery_parked_streams", "1x10", "0x7 1x3"),
    counter_case(
        "SegplaneRecordsQuarantined",
        "segplane_nursery_quarantined_slices_total",
        'cause="undecodable"',
        {"cause": "undecodable"},
    ),
    gauge_case("SegplaneDatasetWaits", "segplane_nursery_waiting_datasets", "2x10", "0x9 1"),
    counter_case(
        "SegplaneExcessAllowed", "segplane_registration_allowed_excess_events_total", "", {}
    ),
    database_case("SegplaneMergeDebt", "segplane_merge_debt_segments", "12000x10", "0x10"),
    counter_case(
        "SegplaneMergesFail",
        "segplane_merge_tasks_total",
        'outcome="failed"',
        {},
        "0x20 0+1x40",
    ),
    counter_case("SegplaneMergesDeferred", "segplane_merge_tasks_total", 'outcome="deferred"', {}),
    RuleCase(
        "SegplaneExportsRefused",
        {of(EXPORTS, 'outcome="unauthenticated",signal="logs"'): "0+1x20"},
        {
            of(EXPORTS, 'outcome="unauthenticated",signal="logs"'): "0x20",
            of(EXPORTS, 'outcome="accepted",signal="logs"'): "0+100x20",
            of(EXPORTS, 'outcome="duplicate",signal="logs"'): "0+1x20",
        },
        20,
        {"outcome": "unauthenticated"},
    ),
    RuleCase(
        "SegplaneCollectorFull",
        {
            of("segplane_collector_buffered_bytes"): "90x10",
            of("segplane_collector_buffer_limit_bytes"): "100x10",
        },
        {
            of("segplane_collector_buffered_bytes"): "70x10",
            of("segplane_collector_buffer_limit_bytes"): "100x10",
        },
        labels={"instance": "a"},
    ),
    none_case("SegplaneNoMeta", "segplane_meta_deletion_held"),
    none_case("SegplaneNoCollector", "segplane_collector_buffered_bytes"),
    none_case("SegplaneNoNursery", "segplane_nursery_lag_seconds"),
    none_case("SegplaneNoMergeWorker", "segplane_merge_bytes_total"),
    none_case("SegplaneNoJanitor", "segplane_janitor_braked_datasets"),
    RuleCase(
        "SegplaneNothingScraped",
        {'up{job="others",instance="a"}': "1x10"},
        {of("up"): "0x10"},
        labels={"job": "segplane"},
        has_installation=False,
    ),
    RuleCase(
        "SegplaneTargetDown",
        {of("up"): "1x5 0x5"},
        {of("up"): "1x9 0"},
        labels={"instance": "a", "job": "segplane"},
    ),
    RuleCase(
        "SegplaneClockOff",
        {of("segplane_clock_skew_seconds"): "-45x10"},
        {of("segplane_clock_skew_seconds"): "-2x10"},
        labels={"instance": "a"},
    ),
    rate_case(
        "SegplaneLibraryMessages",
        "segplane_library_messages_total",
        'level="error"',
        {"instance": "a"},
    ),
    rate_case(
        "SegplaneMetricsRequestsFail",
        "segplane_metrics_request_faults_total",
        "",
        {"instance": "a", "job": "segplane"},
    ),
    RuleCase(
        "SegplaneQueriesRefused",
        {of("segplane_gateway_queries_total", 'outcome="QueryStopped"'): "0+1x30"},
        {
            of("segplane_gateway_queries_total", 'outcome="QueryStopped"'): "0x30",
            of("segplane_gateway_queries_total", 'outcome="done"'): "0+10x30",
        },
        30,
        {"outcome": "QueryStopped"},
    ),
    counter_case(
        "SegplaneJanitorFails",
        "segplane_janitor_chore_failures_total",
        'chore="scrub"',
        {"chore": "scrub"},
        "0x20 0+1x40",
    ),
    gauge_case("SegplaneObjectsDamaged", "segplane_janitor_damaged_objects", "1x10", "0x10"),
    RuleCase(
        "SegplaneScrubStalls",
        {
            of("segplane_janitor_scrubbed_bytes_total"): f"0x{3 * DAY}",
            of("segplane_nursery_segments_total", instance="b"): f"0+1x{3 * DAY}",
        },
        {
            of("segplane_janitor_scrubbed_bytes_total"): f"0+1000x{3 * DAY}",
            of("segplane_nursery_segments_total", instance="b"): f"0+1x{3 * DAY}",
        },
        THREE_DAYS,
        {"instance": "a", "job": "segplane"},
        step=LONG_STEP,
    ),
    gauge_case("SegplaneStoreClockOff", "segplane_store_clock_skew_seconds", "300x10", "-20x10"),
    database_case(
        "SegplaneDatabaseNeedsOperator",
        "segplane_meta_database_causes",
        "1x10",
        "0x10",
        ("cause", "disk_full"),
    ),
    database_case("SegplaneWitnessAmiss", "segplane_meta_witness_state", "3x10", "1x10"),
    database_case("SegplaneDeletionHeld", "segplane_meta_deletion_held", "1x10", "0x10"),
    gauge_case("SegplaneDeletionBraked", "segplane_janitor_braked_datasets", "1x10", "0x10"),
    database_case(
        "SegplaneCredentialEnds",
        "segplane_meta_expiring",
        "1x10",
        "0x10",
        ("kind", "access_token"),
    ),
    counter_case(
        "SegplaneMetaJobFails",
        "segplane_meta_background_failures_total",
        'exported_job="expiry"',
        {"exported_job": "expiry"},
        "0x20 0+1x40",
    ),
    RuleCase(
        "SegplaneMetaJobHangs",
        {of("segplane_meta_background_success_timestamp_seconds", 'exported_job="pins"'): "0x20"},
        {
            of("segplane_meta_background_success_timestamp_seconds", 'exported_job="pins"'): (
                "0+60x20"
            )
        },
        20,
        {"instance": "a", "exported_job": "pins"},
    ),
    RuleCase(
        "SegplaneCallsSlow",
        {
            of("segplane_rpc_seconds_bucket", 'rpc="CommitOffset",code="OK",le="1"'): "0+50x20",
            of("segplane_rpc_seconds_bucket", 'rpc="CommitOffset",code="OK",le="5"'): "0+60x20",
            of("segplane_rpc_seconds_bucket", 'rpc="CommitOffset",code="OK",le="+Inf"'): "0+60x20",
            of("segplane_rpc_seconds_count", 'rpc="CommitOffset",code="OK"'): "0+60x20",
        },
        {
            # Two slow calls in ten minutes are too few to be judged.
            of("segplane_rpc_seconds_bucket", 'rpc="CommitOffset",code="OK",le="1"'): "0x20",
            of("segplane_rpc_seconds_bucket", 'rpc="CommitOffset",code="OK",le="+Inf"'): "0+1x20",
            of("segplane_rpc_seconds_count", 'rpc="CommitOffset",code="OK"'): "0+1x20",
        },
        20,
        {"rpc": "CommitOffset"},
    ),
    rate_case(
        "SegplaneCallsRestricted",
        "segplane_restricted_calls_total",
        'who="stranger",why="pace"',
        {"who": "stranger", "why": "pace"},
    ),
    counter_case(
        "SegplaneDatabaseClockSteps",
        "segplane_meta_clock_steps_total",
        'direction="forward"',
        {"direction": "forward"},
    ),
    RuleCase(
        "SegplanePinsHoldStorage",
        {
            **of_metas("segplane_pin_held_bytes", "0+1000x20"),
            **of_metas("segplane_pin_age_seconds", "0+1800x20"),
        },
        {
            # Held for as long, but not more.
            **of_metas("segplane_pin_held_bytes", "1000x20"),
            **of_metas("segplane_pin_age_seconds", "0+1800x20"),
        },
        480,
        step=LONG_STEP,
    ),
    *BUDGET_CASES,
    *FINDING_CASES,
)
