"""Cost of a gigabyte of logs and traces, and time to an answer, beside ClickHouse.

`make bench-cost` runs it. ClickHouse is chDB with the tables of the
OpenTelemetry Collector's own exporter.
"""
