"""Alerts of what checks find: fsck, the canary, the scrub, the conservation of records."""

from segplane.deploy.alerts.alert import Alert, Severity
from segplane.deploy.alerts.pipeline import NO_MERGES

_CANARY = "segplane_canary_records_total"
_LATE_CAUSES = (*NO_MERGES, "SegplaneNoCollector", "SegplaneRecordsLate")
ALERTS = (
    Alert(
        "SegplaneFsckFindsProblems",
        "max by (installation, check, kind) (segplane_fsck_problems) > 0",
        Severity.CRITICAL,
        "The last run of the check of {{ $labels.check }} found problems: {{ $labels.kind }}.",
        "`segplane fsck` names each ([damage and repair](operations.md#damage-and-repair)).",
    ),
    Alert(
        "SegplaneFsckNotRun",
        "time() - max by (installation, check) (segplane_fsck_finished_timestamp_seconds)"
        " > $unchecked_secs",
        Severity.WARNING,
        "No check of {{ $labels.check }} has ended for eight days.",
        "The log of the job that runs `segplane fsck --metrics`: see [the findings of"
        " fsck](#findings-of-fsck).",
    ),
    Alert(
        "SegplaneObjectsDamaged",
        "max by (installation) (segplane_janitor_damaged_objects) > 0",
        Severity.CRITICAL,
        "Two reads found an object of a live segment, or a baby segment that is not merged yet,"
        " damaged or missing.",
        "`segplane fsck`, and `object_damaged` in the janitor's log"
        " ([damage and repair](operations.md#damage-and-repair)).",
    ),
    Alert(
        "SegplaneScrubStalls",
        "increase(segplane_janitor_scrubbed_bytes_total[$scrub]) == 0"
        " and segplane_janitor_scrubbed_bytes_total offset $scrub >= 0"
        " and on (installation) sum by (installation)"
        " (increase(segplane_nursery_segments_total[$scrub])) > 0",
        Severity.WARNING,
        "Stored objects are not checked for damage.",
        "The janitor's log, and `JANITOR_SCRUB_BYTES_PER_SEC`.",
    ),
    Alert(
        "SegplaneExcessEvents",
        "sum by (installation) (increase(segplane_registration_excess_events_total[$hour])) > 0",
        Severity.WARNING,
        "Segments were registered with more events than the records that collectors counted. Some"
        " of their baby segments have no count, so the events were let in.",
        "A nursery doubles records, or a collector counts too few: compare the releases of both"
        " (`segplane status`), and run `segplane fsck`.",
    ),
    Alert(
        "SegplaneExcessAllowed",
        "sum by (installation)"
        " (increase(segplane_registration_allowed_excess_events_total[$day])) > 0",
        Severity.WARNING,
        "An allowance of excess events is used.",
        "`segplane audit` shows who gave it. Revoke it once its cause is removed.",
    ),
    Alert(
        "SegplaneCanaryLost",
        f'sum by (installation, result) (increase({_CANARY}{{result=~"lost|doubled"}}[$hour])) > 0',
        Severity.CRITICAL,
        "An acknowledged record of the canary is {{ $labels.result }}.",
        "The canary's output names the record. `segplane trace DATASET --where` finds where it"
        " stopped, `segplane fsck --data` damage.",
    ),
    Alert(
        "SegplaneCanaryLate",
        "sum by (installation, result)"
        f' (increase({_CANARY}{{result=~"late|refused|unread"}}[$rate])) > 0',
        Severity.WARNING,
        "Records of the canary are {{ $labels.result }}.",
        "The canary's output names the step, and `segplane why` with its dataset the stage.",
        hold="outage",
        caused_by=_LATE_CAUSES,
    ),
    Alert(
        "SegplaneCanarySilent",
        "time() - max by (installation) (segplane_canary_arrived_timestamp_seconds) > $hung_secs",
        Severity.CRITICAL,
        "No record of the canary has arrived for ten minutes.",
        "`segplane why` with its dataset; the canary's output has the failures of its exports and"
        " readings.",
        hold="outage",
        caused_by=_LATE_CAUSES,
    ),
)
