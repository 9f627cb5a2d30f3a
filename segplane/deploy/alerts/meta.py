"""Alerts of meta and its database; those of the database come from every meta."""

from segplane.deploy.alerts.alert import META_CAUSES, Alert, Severity

ALERTS = (
    Alert(
        "SegplaneDatabaseNeedsOperator",
        "max by (installation, cause) (segplane_meta_database_causes) == 1",
        Severity.CRITICAL,
        "Postgres fails by a cause that only an operator can mend: {{ $labels.cause }}.",
        "Event `database_needs_operator` in meta's log has the words of Postgres"
        " ([causes](operations.md#causes-that-only-an-operator-can-mend)).",
        caused_by=("SegplaneNoMeta",),
    ),
    Alert(
        "SegplaneWitnessAmiss",
        "max by (installation) (segplane_meta_witness_state != 1)",
        Severity.CRITICAL,
        "The witness of the database is amiss: 0 = none is kept, 2 = the database counts as"
        " restored, 3 = another database has taken over the bucket.",
        "meta's log, and [Backups](operations.md#backups).",
        hold="outage",
        caused_by=META_CAUSES,
    ),
    Alert(
        "SegplaneDeletionHeld",
        "max by (installation) (segplane_meta_deletion_held) == 1",
        Severity.WARNING,
        "Deletion is held after a failover or a restore, or by hand.",
        "`segplane deletion` says why ([Backups](operations.md#backups)).",
    ),
    Alert(
        "SegplaneDeletionBraked",
        "max by (installation) (segplane_janitor_braked_datasets) > 0",
        Severity.WARNING,
        "A dataset would lose more than half at once; nothing of it is deleted.",
        "`segplane deletion`. If the deletion is intended, `segplane deletion --release"
        " --dataset`; otherwise correct the retention.",
    ),
    Alert(
        "SegplaneCredentialEnds",
        "max by (installation, kind) (segplane_meta_expiring) > 0",
        Severity.WARNING,
        "A {{ $labels.kind }} ends within 14 days, or a third (certificate) or half (access token)"
        " of its validity if that is less.",
        "`segplane status` and `segplane access list` name it;"
        " `segplane_meta_expiry_timestamp_seconds` has the times.",
    ),
    Alert(
        "SegplaneMetaJobFails",
        "sum by (installation, exported_job)"
        " (increase(segplane_meta_background_failures_total[$hour])) > 3",
        Severity.WARNING,
        "Background job or expiry rule {{ $labels.exported_job }} of meta fails.",
        "Event `chore_failed` in meta's log.",
        caused_by=META_CAUSES,
    ),
    Alert(
        "SegplaneMetaJobHangs",
        "time() - min by (installation, instance, exported_job)"
        " (segplane_meta_background_success_timestamp_seconds) > $hung_secs",
        Severity.WARNING,
        "Background job or expiry rule {{ $labels.exported_job }} of meta has not succeeded for"
        " ten minutes.",
        "meta's log: the job hangs, or fails with `chore_failed`.",
        caused_by=META_CAUSES,
    ),
    Alert(
        "SegplaneCallsSlow",
        "histogram_quantile(0.99, sum by (installation, rpc, le)"
        " (rate(segplane_rpc_seconds_bucket[$rate]))) > 1"
        " and sum by (installation, rpc) (rate(segplane_rpc_seconds_count[$rate])) > 0.1",
        Severity.WARNING,
        "A hundredth of the calls of {{ $labels.rpc }} takes more than a second.",
        "Postgres: locks, disk, connections. Methods with fewer than a call in ten seconds are not"
        " judged.",
        hold="steady",
        caused_by=META_CAUSES,
    ),
    Alert(
        "SegplaneCallsRestricted",
        "sum by (installation, who, why) (rate(segplane_restricted_calls_total[$rate])) > 10",
        Severity.WARNING,
        "Calls are refused, ended or delayed by a bound: {{ $labels.who }}, {{ $labels.why }}.",
        "`stranger`: callers without a valid credential flood the server; `subject`: one principal"
        " does, or needs more than a bound allows ([overload](contributing/overload.md)). Event"
        " `rpc_refused` in meta's log has the subject; `segplane audit denials` lists callers"
        " without a credential.",
    ),
    Alert(
        "SegplaneBoundReached",
        "min by (installation, bound) (segplane_free_places"
        '{bound!~"month_records|database_connections"}) <= 0',
        Severity.WARNING,
        "No place of bound {{ $labels.bound }} is free: what comes next is refused, or displaces"
        " others.",
        "`segplane_free_places` by instance says where; [limits](contract.md#limits) names the"
        " settings.",
        hold="steady",
        caused_by=META_CAUSES,
    ),
    Alert(
        "SegplaneQuotaNearlyUsed",
        "max by (installation, limit) (segplane_meta_quota_used_ratio) > 0.9",
        Severity.WARNING,
        "More than 90 % of the records that a {{ $labels.limit }} may have in this month are used:"
        " collectors will refuse its exports.",
        "`segplane datasets usage` and `segplane access quotas` name it. Raise the limit"
        " ([quotas](operations.md#quotas-of-creators)), or let its senders send less.",
    ),
    Alert(
        "SegplaneDatabaseClockSteps",
        "sum by (installation, direction) (increase(segplane_meta_clock_steps_total[$hour])) > 0",
        Severity.WARNING,
        "The clock of the database stepped {{ $labels.direction }} by more than 5 s; nothing is"
        " deleted early.",
        "[Steps of the database's clock](operations.md#steps-of-the-databases-clock).",
    ),
    Alert(
        "SegplanePinsHoldStorage",
        "max by (installation) (delta(segplane_pin_held_bytes[$pinned])) > 0"
        " and max by (installation) (segplane_pin_age_seconds) > $pinned_secs",
        Severity.WARNING,
        "Readers have pinned old versions for hours, and the deleted records that those keep become"
        " more.",
        "`segplane pins list` names the readers ([Pins](operations.md#pins)).",
    ),
)
