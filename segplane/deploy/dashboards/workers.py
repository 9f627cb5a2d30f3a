"""Dashboard of the processes, the janitor, the gateway and the object store."""

from segplane.deploy.dashboards.panels import DashboardContent, lines, mean, quantile, rate, stat

WORKERS = DashboardContent(
    "segplane-workers",
    "Segplane: workers and store",
    "Resources of every process, the janitor's jobs, the object store, queries.",
    {
        "Processes": (
            stat(
                "Targets that are up",
                "none",
                "Processes whose metrics can be read.",
                'sum(up{job="segplane",$here})',
            ),
            stat(
                "Releases",
                "none",
                "More than one: an upgrade is not finished.",
                "count(count by (version) (segplane_build_info{$here}))",
            ),
            lines(
                "CPU",
                "none",
                "Cores that each process uses.",
                (
                    'rate(process_cpu_seconds_total{job="segplane",$here}[$window])',
                    "{{process}} {{instance}}",
                ),
            ),
            lines(
                "Memory",
                "bytes",
                "Resident memory of each process, without its children.",
                ('process_resident_memory_bytes{job="segplane",$here}', "{{process}} {{instance}}"),
            ),
            lines(
                "Open files",
                "none",
                "Files and connections that each process has open.",
                ('process_open_fds{job="segplane",$here}', "{{process}} {{instance}}"),
            ),
            lines(
                "Clocks",
                "s",
                "Seconds by which clocks are ahead of the database's.",
                ("segplane_clock_skew_seconds{$here}", "{{process}} {{instance}}"),
                ("segplane_store_clock_skew_seconds{$here}", "object store"),
            ),
            lines(
                "Calls of meta, as workers see them",
                "s",
                "Attempts of calls of meta. A rise: meta or the network is slow.",
                (
                    quantile(0.99, "grpc_client_attempt_duration_seconds", "process"),
                    "{{process}} p99",
                ),
            ),
            lines(
                "Messages of libraries",
                "ops",
                "A rise: malformed requests, or a library that meets faults.",
                (
                    rate("segplane_library_messages_total", "process, level"),
                    "{{process}} {{level}}",
                ),
                (
                    rate("segplane_metrics_request_faults_total", "process"),
                    "{{process}} metrics port",
                ),
            ),
            lines(
                "Shards of nurseries",
                "none",
                "Of 64 in all. The sum stays below: streams wait until a lease expires.",
                ("segplane_nursery_shards{$here}", "{{instance}}"),
            ),
        ),
        "Janitor and store": (
            stat(
                "Damaged objects",
                "none",
                "Above 0: segplane fsck.",
                "max(segplane_janitor_damaged_objects{$here})",
            ),
            stat(
                "Braked datasets",
                "none",
                "Datasets that would lose much at once.",
                "max(segplane_janitor_braked_datasets{$here})",
            ),
            stat(
                "Orphans that stay",
                "none",
                "Orphans that the limit of a run left.",
                "max(segplane_janitor_orphans_left{$here})",
            ),
            lines(
                "Objects deleted",
                "ops",
                "A rise of orphan or unfinished: writers fail before they register.",
                (rate("segplane_janitor_deleted_objects_total", "why"), "{{why}}"),
            ),
            lines(
                "Bytes scrubbed",
                "Bps",
                "Bytes compared with checksums.",
                (rate("segplane_janitor_scrubbed_bytes_total", "installation"), "scrubbed"),
            ),
            lines(
                "Jobs",
                "s",
                "Mean seconds of a run of each job.",
                (mean("segplane_janitor_chore_seconds", "chore"), "{{chore}}"),
            ),
            lines(
                "Failed jobs",
                "none",
                "Runs within an hour that failed and are repeated.",
                (
                    "sum by (chore) (increase(segplane_janitor_chore_failures_total{$here}[1h]))",
                    "{{chore}}",
                ),
            ),
        ),
        "Gateway": (
            lines(
                "Requests by route",
                "ops",
                "Requests over HTTP, of collectors too.",
                (
                    rate("http_server_request_duration_seconds_count", "http_route"),
                    "{{http_route}}",
                ),
            ),
            lines(
                "Duration of requests",
                "s",
                "To the head of the answer.",
                (
                    quantile(0.99, "http_server_request_duration_seconds", "http_route"),
                    "{{http_route}} p99",
                ),
            ),
            lines(
                "Queries by outcome",
                "ops",
                "QueryStopped, TooManyQueries: callers reach their limits.",
                (rate("segplane_gateway_queries_total", "outcome"), "{{outcome}}"),
            ),
            lines(
                "Duration of queries",
                "s",
                "Seconds that a query had a process.",
                (quantile(0.99, "segplane_gateway_query_seconds", "process"), "p99"),
                (mean("segplane_gateway_query_seconds", "process"), "mean"),
            ),
            lines(
                "Running queries",
                "none",
                "At GATEWAY_QUERY_CONCURRENT others wait.",
                ("segplane_gateway_running_queries{$here}", "{{instance}}"),
            ),
            lines(
                "Restricted connections",
                "ops",
                "Connections that were closed, by reason.",
                (rate("segplane_gateway_restricted_connections_total", "why"), "{{why}}"),
            ),
        ),
    },
)
