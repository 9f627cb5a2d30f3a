"""JSON records to an OTLP/logs export: each record one log record, its fields the attributes.

`{"records": [...]}`, with or without the dataset's id beside the list, or an object on each line. A
record that cannot be kept as it was sent is rejected by itself, with the place of the error; the
values themselves are never quoted.
"""

import json
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from collector.otlp.attribute_bounds import AttributeBounds
from collector.otlp.export import TooManyRecords
from collector.otlp.json import PARTS_PER_RECORD
from collector.otlp.partial_success import PartialSuccess
from collector.records import json_times, json_values
from collector.records.json_times import TimestampUnit
from collector.records.json_values import Members, Misfit, NotJson, Number
from collector.refusal import malformed
from segments.signals import Signal
from segments.typed.conformity import SchemaMisfits

# Errors that an answer lists; the others are counted.
ERRORS_MAX = 100
Form = Literal["json", "ndjson"]
_TRACE_ID = re.compile(r"[0-9a-fA-F]{32}")
_SPAN_ID = re.compile(r"[0-9a-fA-F]{16}")
# The version, a trace, its span and flags: https://www.w3.org/TR/trace-context/#traceparent-header
# Ids of zeros alone are invalid.
_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}"
)
ID, CONTEXT, DATASET_ID = "id", "context", "datasetId"
_ERRORS = (ValueError, RecursionError)


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """Options for reading one request's records; `arrived_at` is in nanoseconds."""

    form: Form
    arrived_at: int
    bounds: AttributeBounds
    unit: TimestampUnit | None = None
    traceparent: str = ""
    records_max: int = sys.maxsize
    # Name and id of the dataset, of which a body may repeat either.
    dataset_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordError:
    """The reason of a rejection, with the record's place from 0 (None = several) and field."""

    index: int | None
    field: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedRecords(PartialSuccess):
    """The export made of the records that could be kept, and the first errors of the others.

    `are_distinguishable` is true if all records have an id or a timestamp, so that equal bytes are
    a duplicate and not another event.
    """

    num_accepted: int
    errors: tuple[RecordError, ...] = ()
    are_distinguishable: bool = False
    # The place in the request of each record of the export.
    places: tuple[int, ...] = ()

    def taken(self, valid: PartialSuccess, batch_id: str) -> "TakenRecords":
        """Return the answer: `valid` is the part of the export that was taken."""
        unfit = valid.schema_violations or SchemaMisfits()
        misfits = (RecordError(self.places[m.record], m.column, m.reason) for m in unfit.misfits)
        errors = (*self.errors, *misfits)[:ERRORS_MAX]
        num_rejected = valid.num_rejected - self.num_rejected if valid is not self else 0
        outside = num_rejected - len(unfit.records)
        if outside:
            errors = (*errors, RecordError(None, "timestamp", f"{outside} records: {valid.cause}"))
        return TakenRecords(
            self.num_accepted - num_rejected,
            self.num_rejected + num_rejected,
            errors[-ERRORS_MAX:],
            is_repeat=bool(valid.warning),
            batch_id=batch_id,
        )


@dataclass(frozen=True, slots=True)
class TakenRecords:
    """The answer about one request's records; all that are stored have the `batch_id`."""

    num_accepted: int
    num_rejected: int
    errors: tuple[RecordError, ...]
    is_repeat: bool
    batch_id: str


def to_logs(_: Signal, body: bytes, options: RecordOptions) -> ConvertedRecords:
    """Convert a request's body; raises Refused if it is not a list of records.

    Raises TooManyRecords early if it has more objects and lists than `records_max` records could
    need.
    """
    if (parts := body.count(b"{") + body.count(b"[")) > PARTS_PER_RECORD * options.records_max:
        raise TooManyRecords(options.records_max, parts)
    reader = _Reader(options)
    request = ExportLogsServiceRequest()
    logs = request.resource_logs.add().scope_logs.add().log_records
    errors: list[RecordError] = []
    places: list[int] = []
    num_records = 0
    for index, record in enumerate(_records(body, options)):
        num_records += 1
        try:
            logs.append(reader.log_of(record))
            places.append(index)
        except Misfit as misfit:
            if len(errors) < ERRORS_MAX:
                errors.append(RecordError(index, misfit.path, misfit.message))
    return ConvertedRecords(
        request.SerializeToString() if logs else b"",
        num_rejected=num_records - len(logs),
        num_accepted=len(logs),
        errors=tuple(errors),
        are_distinguishable=reader.are_distinguishable,
        places=tuple(places),
    )


def _records(body: bytes, options: RecordOptions) -> Iterator[Any]:
    """Yield each record as it was parsed, or the error of a line that is not JSON."""
    if options.form == "ndjson":
        for line in body.split(b"\n"):
            if line.removeprefix(BOM_UTF8).strip():
                yield _parsed_line(line)
        return
    try:
        document = json_values.parse(body)
    except _ERRORS as error:
        raise malformed(f"body is not JSON ({_cause(error)})") from error
    members = document if isinstance(document, Members) else Members()
    by_name = dict(members)
    records = by_name.pop("records", None)
    dataset = by_name.pop(DATASET_ID, None)
    is_whole = len(members) == 1 + (dataset is not None)
    if not isinstance(records, list) or by_name or not is_whole:
        raise malformed(
            f'body is not {{"records": [...]}} with nothing beside the list but a {DATASET_ID}; for'
            " an object on each line, the content type is application/x-ndjson"
        )
    if dataset is not None and dataset not in options.dataset_names:
        raise malformed(f"{DATASET_ID} is another one than the dataset of the path")
    yield from records


def _parsed_line(line: bytes) -> Any:
    try:
        return json_values.parse(line)
    except _ERRORS as error:
        return error


class _Reader:
    """Makes log records of one request's records."""

    def __init__(self, options: RecordOptions) -> None:
        self.are_distinguishable = True
        self._options = options
        traceparent = _TRACEPARENT.fullmatch(options.traceparent.strip().lower())
        # An invalid traceparent counts as none, as the specification asks.
        self._trace = tuple(map(bytes.fromhex, traceparent.groups())) if traceparent else None
        self._fields: dict[str, Callable[[LogRecord, Any], None]] = {
            "timestamp": self._timestamp,
            "trace_id": self._trace_id,
            "span_id": self._span_id,
            ID: self._id,
            CONTEXT: self._context,
        }

    def log_of(self, record: Any) -> LogRecord:
        """Return the log record of one record; raises Misfit."""
        if isinstance(record, Exception):
            raise Misfit("", f"the line is not JSON ({_cause(record)})")
        if not isinstance(record, Members):
            raise Misfit("", "the record is not an object")
        log = LogRecord(observed_time_unix_nano=self._options.arrived_at)
        has_id = False
        for name, value, path in json_values.named(record):
            read = self._fields.get(name)
            if read is None:
                self._add(log, name, value, path)
            elif value is not None:
                has_id = has_id or name == ID
                read(log, value)
        if self._trace and not log.trace_id:
            log.trace_id, log.span_id = self._trace[0], log.span_id or self._trace[1]
        self._check(log)
        self.are_distinguishable = self.are_distinguishable and (has_id or bool(log.time_unix_nano))
        return log

    def _add(self, log: LogRecord, name: str, value: Any, path: str) -> None:
        if not name:
            raise Misfit(path, "a field has no name")
        json_values.fill(log.attributes.add(key=name).value, value, path)

    def _check(self, log: LogRecord) -> None:
        """Refuse what lies beyond the bounds of attributes, which would be cut otherwise."""
        bounds = self._options.bounds
        if bounds.attributes_max and len(log.attributes) > bounds.attributes_max:
            raise Misfit("", f"the record has more than {bounds.attributes_max} fields")
        for attribute in log.attributes:
            if bounds.is_long_name(attribute.key):
                raise Misfit(attribute.key, f"the name is over {bounds.name_bytes_max} bytes")
            if bounds.value_bytes_max and attribute.value.ByteSize() > bounds.value_bytes_max:
                raise Misfit(attribute.key, f"the value is over {bounds.value_bytes_max} bytes")

    def _timestamp(self, log: LogRecord, value: Any) -> None:
        log.time_unix_nano = json_times.nanos(value, self._options.unit)

    def _trace_id(self, log: LogRecord, value: Any) -> None:
        log.trace_id = _hex(value, _TRACE_ID, "trace_id", 32)

    def _span_id(self, log: LogRecord, value: Any) -> None:
        log.span_id = _hex(value, _SPAN_ID, "span_id", 16)

    def _id(self, log: LogRecord, value: Any) -> None:
        is_text = isinstance(value, str) and not isinstance(value, Number | NotJson)
        if not is_text and (not isinstance(value, int) or isinstance(value, bool)):
            raise Misfit(ID, "the id is neither text nor a whole number")
        self._add(log, ID, value, ID)

    def _context(self, log: LogRecord, value: Any) -> None:
        if not isinstance(value, Members):
            raise Misfit(CONTEXT, "the context is not an object")
        # Checked like any other value, then kept as the text that it came as.
        json_values.fill(AnyValue(), value, CONTEXT)
        self._add(log, CONTEXT, json_values.write(value), CONTEXT)


def _hex(value: Any, pattern: re.Pattern[str], name: str, digits: int) -> bytes:
    if not isinstance(value, str) or not pattern.fullmatch(value) or not value.strip("0"):
        raise Misfit(name, f"the {name} is not {digits} hexadecimal digits, one of them above 0")
    return bytes.fromhex(value)


def _cause(error: Exception) -> str:
    # The parser's own message may quote the body.
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno} column {error.colno}"
    if isinstance(error, UnicodeError):
        return "its text is not UTF-8"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return "a number has too many digits"
