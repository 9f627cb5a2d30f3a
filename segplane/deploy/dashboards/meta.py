"""Dashboard of meta and its database."""

from segplane.deploy.dashboards.panels import DashboardContent, lines, mean, quantile, rate, stat

META = DashboardContent(
    "segplane-meta",
    "Segplane: meta and Postgres",
    "Calls, commits, background jobs and the state of the database.",
    {
        "Overview": (
            stat(
                "Calls",
                "ops",
                "Calls a second, also those that do not end well.",
                'sum(rate(grpc_server_call_started_total{$here,grpc_method=~"meta.*"}[$window]))',
            ),
            stat(
                "Causes for an operator",
                "none",
                "Causes by which Postgres fails and that only an operator can mend.",
                "max(segplane_meta_database_causes{$here})",
            ),
            stat(
                "Deletion held",
                "none",
                "1 while nothing is deleted.",
                "max(segplane_meta_deletion_held{$here})",
            ),
            stat(
                "Witness",
                "none",
                "1 = kept, 0 = none, 2 = restored, 3 = another database has taken over.",
                "max(segplane_meta_witness_state{$here})",
            ),
            stat(
                "Credentials to renew",
                "none",
                "Certificates and access tokens whose renewal is due.",
                "sum(max by (kind) (segplane_meta_expiring{$here}))",
            ),
            stat(
                "Oldest pin",
                "s",
                "Seconds since the oldest pin was taken.",
                "max(segplane_pin_age_seconds{$here})",
            ),
        ),
        "Calls": (
            lines(
                "Calls by method",
                "ops",
                "The methods with most calls.",
                (
                    f"topk(10, {rate('grpc_server_call_started_total', 'grpc_method')})",
                    "{{grpc_method}}",
                ),
            ),
            lines(
                "Calls by status",
                "ops",
                "The end of calls, by gRPC's status.",
                (rate("grpc_server_call_duration_seconds_count", "grpc_status"), "{{grpc_status}}"),
            ),
            lines(
                "Duration",
                "s",
                "From a call's headers to its answer. A rise: Postgres is slow.",
                (
                    f"topk(10, {quantile(0.99, 'segplane_rpc_seconds', 'rpc')})",
                    "{{rpc}} p99",
                ),
            ),
            lines(
                "Restricted calls",
                "ops",
                "Calls refused, ended or delayed by a bound.",
                (rate("segplane_restricted_calls_total", "who, why"), "{{who}} {{why}}"),
            ),
            lines(
                "Free places",
                "none",
                "Near 0: what comes next is refused, or displaces others.",
                ("min by (bound) (segplane_free_places{$here})", "{{bound}}"),
            ),
            lines(
                "Attempts of clients",
                "ops",
                "A rise beside the calls: a meta does not answer, or sheds load.",
                (rate("grpc_client_attempt_started_total", "grpc_target"), "{{grpc_target}}"),
            ),
        ),
        "Database": (
            lines(
                "Calls in a commit",
                "none",
                "Mean number of calls that shared one database commit.",
                (mean("segplane_commit_batch_calls", "queue"), "{{queue}}"),
            ),
            lines(
                "Retries and failed batches",
                "ops",
                "Transactions run again after a conflict, and batches whose calls were run singly.",
                (rate("segplane_transaction_retries_total", "sqlstate"), "{{sqlstate}}"),
                (rate("segplane_commit_batch_failures_total", "queue"), "batch {{queue}}"),
            ),
            lines(
                "Steps of the clock",
                "none",
                "Steps of the database's clock within an hour.",
                (
                    "sum by (direction) (increase(segplane_meta_clock_steps_total{$here}[1h]))",
                    "{{direction}}",
                ),
            ),
            lines(
                "Pins",
                "none",
                "Pins whose lease lasts.",
                ("max(segplane_pins{$here})", "pins"),
            ),
            lines(
                "Bytes that pins hold",
                "bytes",
                "Storage that is not freed.",
                ("max(segplane_pin_held_bytes{$here})", "held"),
            ),
            lines(
                "Excess events",
                "ops",
                "Events beyond counted records, refused and allowed.",
                (rate("segplane_registration_excess_events_total", "installation"), "excess"),
                (
                    rate("segplane_registration_allowed_excess_events_total", "installation"),
                    "allowed",
                ),
            ),
        ),
        "Background jobs": (
            lines(
                "Age of the last good run",
                "s",
                "A job or expiry rule that hangs or fails.",
                (
                    "topk(10, time() - min by (exported_job)"
                    " (segplane_meta_background_success_timestamp_seconds{$here}))",
                    "{{exported_job}}",
                ),
            ),
            lines(
                "Failures within an hour",
                "none",
                "Runs that failed and are repeated.",
                (
                    "sum by (exported_job)"
                    " (increase(segplane_meta_background_failures_total{$here}[1h])) > 0"
                    " or sum(increase(segplane_meta_background_failures_total{$here}[1h]))",
                    "{{exported_job}}",
                ),
            ),
        ),
    },
)
