"""Exports that a test sends."""

import time

from opentelemetry.proto.logs.v1.logs_pb2 import LogsData


def log_export(*ids: str, padding_bytes: int = 0, time_nanos: int = 0) -> bytes:
    """An export of one log record per id."""
    data = LogsData()
    scope = data.resource_logs.add().scope_logs.add()
    for index, record_id in enumerate(ids):
        record = scope.log_records.add()
        record.time_unix_nano = (time_nanos or time.time_ns()) + index
        record.body.string_value = record_id
        record.severity_text = "x" * padding_bytes
    return data.SerializeToString()
