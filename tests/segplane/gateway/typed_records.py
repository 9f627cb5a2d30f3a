"""Log records with a value for each column that a schema of the state machine can have."""

from collections.abc import Sequence
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs

from meta.v1 import common_pb2
from tests.support.nursery.drivers import NOW

TYPES = {
    "amount": common_pb2.KQL_TYPE_LONG,
    "city": common_pb2.KQL_TYPE_STRING,
    "order_key": common_pb2.KQL_TYPE_STRING,
    "paid": common_pb2.KQL_TYPE_BOOL,
    "ratio": common_pb2.KQL_TYPE_REAL,
}


def value(column: str, number: int) -> Any:
    values = {
        "amount": 2**53 + number,
        "city": f"é{number % 3}",
        "order_key": f"o-{number}",
        "paid": number % 2 == 0,
        "ratio": number / 4,
    }
    return values[column]


def payload(numbers: Sequence[int]) -> bytes:
    """Log records with an attribute for every column that a schema can have."""
    records = [
        LogRecord(
            time_unix_nano=NOW + number,
            body=AnyValue(string_value=f"record {number:04}"),
            attributes=[
                KeyValue(key="amount", value=AnyValue(int_value=value("amount", number))),
                KeyValue(key="city", value=AnyValue(string_value=value("city", number))),
                KeyValue(key="order_key", value=AnyValue(string_value=value("order_key", number))),
                KeyValue(key="paid", value=AnyValue(bool_value=value("paid", number))),
                KeyValue(key="ratio", value=AnyValue(double_value=value("ratio", number))),
            ],
        )
        for number in numbers
    ]
    logs = ResourceLogs(scope_logs=[ScopeLogs(log_records=records)])
    return LogsData(resource_logs=[logs]).SerializeToString()
