"""Sends log lines to the collector through the official OTLP exporter, each with an id."""

import time
from collections.abc import Iterator, Sequence
from uuid import uuid4

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from segplane.cli.demo import RECORD_ID
from segplane.cli.demo.sources import LogLine, service_of

BATCH_LINES = 512
TRIES_MAX = 10
RETRY_SECS = 1.0
_SCOPE = InstrumentationScope("segplane.demo", "1")


class SendFailed(Exception):
    """The collector refused a batch; the message is one line."""


def send(lines: Sequence[LogLine], endpoint: str, token: str) -> Iterator[list[str]]:
    """Send the lines, and yield the ids of each batch once the collector has acknowledged it.

    A batch whose outcome is unknown is sent again byte for byte; the collector drops duplicates.
    """
    exporter = OTLPLogExporter(
        endpoint=f"{endpoint}/v1/logs", headers={"authorization": f"Bearer {token}"}
    )
    try:
        for start in range(0, len(lines), BATCH_LINES):
            records = [_record(line) for line in lines[start : start + BATCH_LINES]]
            _export(exporter, records)
            yield [str((record.log_record.attributes or {})[RECORD_ID]) for record in records]
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call]


def _export(exporter: OTLPLogExporter, records: Sequence[ReadableLogRecord]) -> None:
    for _ in range(TRIES_MAX):
        if exporter.export(records) is LogRecordExportResult.SUCCESS:
            return
        time.sleep(RETRY_SECS)
    raise SendFailed(f"the collector refused {len(records)} log lines {TRIES_MAX} times")


def _record(line: LogLine) -> ReadableLogRecord:
    record = LogRecord(
        timestamp=line.time_nanos,
        observed_timestamp=time.time_ns(),
        severity_number=SeverityNumber.INFO,
        body=line.text,
        attributes={
            RECORD_ID: uuid4().hex,
            "log.file.path": line.source,
            "log.record.line": line.number,
        },
    )
    resource = Resource({"service.name": service_of(line.source)})
    return ReadableLogRecord(record, resource, _SCOPE)
