"""The case of each alert of fsck, the canary, conservation and bounds."""

from tests.deploy.rule_case import (
    DAY,
    LONG_STEP,
    RuleCase,
    counter_case,
    database_case,
    of,
)

_CANARY = "segplane_canary_records_total"
_DAY_MINUTES = 1440
_CATALOG = 'check="catalog"'

FINDING_CASES = (
    RuleCase(
        "SegplaneFsckFindsProblems",
        {of("segplane_fsck_problems", f'{_CATALOG},kind="violation"'): "3x10"},
        {of("segplane_fsck_problems", f'{_CATALOG},kind="violation"'): "0x10"},
        labels={"check": "catalog", "kind": "violation"},
    ),
    RuleCase(
        "SegplaneFsckNotRun",
        {of("segplane_fsck_finished_timestamp_seconds", _CATALOG): f"0x{9 * DAY}"},
        {of("segplane_fsck_finished_timestamp_seconds", _CATALOG): f"{5 * 86_400}x{9 * DAY}"},
        9 * _DAY_MINUTES,
        {"check": "catalog"},
        step=LONG_STEP,
    ),
    counter_case("SegplaneExcessEvents", "segplane_registration_excess_events_total", "", {}),
    counter_case("SegplaneCanaryLost", _CANARY, 'result="lost"', {"result": "lost"}),
    RuleCase(
        "SegplaneCanaryLate",
        {of(_CANARY, 'result="late"'): "0+1x20"},
        {of(_CANARY, 'result="arrived"'): "0+2x20", of(_CANARY, 'result="late"'): "0x20"},
        20,
        {"result": "late"},
    ),
    RuleCase(
        "SegplaneCanarySilent",
        {of("segplane_canary_arrived_timestamp_seconds"): "0x20"},
        {of("segplane_canary_arrived_timestamp_seconds"): "0+60x20"},
        20,
    ),
    RuleCase(
        "SegplaneBoundReached",
        {of("segplane_free_places", 'bound="streams"'): "0x10"},
        {
            of("segplane_free_places", 'bound="streams"'): "0x7 1x3",
            of("segplane_free_places", 'bound="database_connections"'): "0x10",
        },
        labels={"bound": "streams"},
    ),
    database_case(
        "SegplaneQuotaNearlyUsed",
        "segplane_meta_quota_used_ratio",
        "0.95x10",
        "0.85x10",
        ("limit", "dataset"),
    ),
)
