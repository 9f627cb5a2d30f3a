"""A result as Kusto's clients read it: frames of version 2 of its REST API."""

import io
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import IO

from kql.types import KqlType
from segplane.query.engine import RunningQuery
from segplane.query.results.civil_times import timestamp_text
from segplane.query.results.forms import Style, timespan_text
from segplane.query.results.output import json_rows

_HEADER = {"FrameType": "DataSetHeader", "IsProgressive": False, "Version": "v2.0"}
_PROPERTIES: tuple[tuple[str, str], ...] = (
    ("TableId", "int"),
    ("Key", "string"),
    ("Value", "dynamic"),
)
_INFORMATION: tuple[tuple[str, str], ...] = (
    ("Timestamp", "datetime"),
    ("ClientRequestId", "string"),
    ("ActivityId", "guid"),
    ("SubActivityId", "guid"),
    ("ParentActivityId", "guid"),
    ("Level", "int"),
    ("LevelName", "string"),
    ("StatusCode", "int"),
    ("StatusCodeName", "string"),
    ("EventType", "int"),
    ("EventTypeName", "string"),
    ("Payload", "string"),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COMPLETED = '{"Count":1,"Text":"Query completed successfully"}'
_NO_ID = "00000000-0000-0000-0000-000000000000"
_END = {"FrameType": "DataSetCompletion", "HasErrors": False, "Cancelled": False}


def write_kusto(query: RunningQuery, out: IO[bytes]) -> None:
    """Run a query and write its rows as a data set of one primary result. Raises QueryError."""
    reader, forms = query.result()
    # Kusto's clients ask in KQL only.
    assert query.plan.columns is not None
    columns = list(zip(reader.schema.names, query.plan.columns.values(), strict=True))
    text = io.TextIOWrapper(out, "utf-8", newline="")
    text.write(f"[{_json(_HEADER)},\n{_table(0, 'QueryProperties', '@ExtendedProperties')}")
    text.write(f"{_columns(_PROPERTIES)}]}},\n{_table(1, 'PrimaryResult', 'PrimaryResult')}")
    text.write(_columns(columns))
    is_first = True
    for row in json_rows(reader, forms, Style(timespan=_timespan)):
        text.write(f"{'' if is_first else ','}\n[{','.join(row)}]")
        is_first = False
    table = _table(2, "QueryCompletionInformation", "QueryCompletionInformation")
    text.write(f"]}},\n{table}{_columns(_INFORMATION)}{_json(_completion())}]}},\n{_json(_END)}]\n")
    text.flush()
    text.detach()


def _table(number: int, kind: str, name: str) -> str:
    """Return the beginning of a table, up to its columns."""
    frame = {"FrameType": "DataTable", "TableId": number, "TableKind": kind, "TableName": name}
    return _json(frame)[:-1]


def _columns(columns: Sequence[tuple[str, str | KqlType]]) -> str:
    """Return a table's columns, up to its first row."""
    described = [{"ColumnName": name, "ColumnType": type_} for name, type_ in columns]
    return f',"Columns":{_json(described)},"Rows":['


def _completion() -> list[object]:
    ids = ("", _NO_ID, _NO_ID, _NO_ID)
    status = (4, "Info", 0, "S_OK (0)", 4, "QueryInfo", _COMPLETED)
    micros = (datetime.now(UTC) - _EPOCH) // timedelta(microseconds=1)
    now = timestamp_text(micros, "us", "Z", is_fraction_always=True)
    return [now, *ids, *status]


def _timespan(nanos: int) -> str:
    """Write a timespan with seven digits of a second: Kusto's are 100 ns."""
    whole, point, fraction = timespan_text(nanos).rpartition(".")
    return f"{whole}.{fraction[:7]}" if point and ":" not in fraction else whole + point + fraction


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
