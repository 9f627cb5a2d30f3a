"""Checks of the promoted columns of a dataset."""

import re
from collections.abc import Sequence

from kql import dataset_table
from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.store.catalog.dataset_layouts import RECEIPT_SCOPE, REQUEST_SCOPE, PromotedColumnRow
from meta.v1 import common_pb2

COLUMNS_MAX = 100
# Names of automatic columns in segments.
_AUTOMATIC_NAME = re.compile(r"\$[0-9]+")
# Columns of a schema and of receipt, which readers of the list get too.
BOUND_MAX = 1_003
# The columns of segments.parquet.schema: those of queries without the remainders of times, and
# without what is computed. A test compares the two.
FORMAT_COLUMNS = frozenset(
    name for name in dataset_table.FORMAT_COLUMNS if not name.endswith("_nanos")
) - frozenset(dataset_table.STORED)
TIME_COLUMNS = frozenset(
    name for name, type_ in dataset_table.FORMAT_COLUMNS.items() if type_ == "datetime"
)
# Further columns of the format: a promoted column that is stored already may have their
# names, and theirs get an underscore.
WORD_COLUMNS = frozenset(dataset_table.WORDS)
_TYPES = frozenset(common_pb2.KqlType.values())
_SCOPES = frozenset(
    [
        common_pb2.ATTRIBUTE_SCOPE_RECORD,
        common_pb2.ATTRIBUTE_SCOPE_RESOURCE,
        common_pb2.ATTRIBUTE_SCOPE_SCOPE,
    ]
)
# How a record was received, by the setting that asks for it. Callers that read the columns of a
# dataset find these among them.
RECEIPT_COLUMNS = {
    "record_ids": (
        PromotedColumnRow("id", common_pb2.KQL_TYPE_STRING, RECEIPT_SCOPE, "id"),
        PromotedColumnRow(
            "ingested_at", common_pb2.KQL_TYPE_DATETIME, RECEIPT_SCOPE, "ingested_at"
        ),
    ),
    "batch_ids": (
        PromotedColumnRow("batch_id", common_pb2.KQL_TYPE_STRING, REQUEST_SCOPE, "batch_id"),
    ),
}


def checked(
    messages: Sequence[common_pb2.PromotedColumn], field: str
) -> tuple[PromotedColumnRow, ...]:
    """Check columns: typed, scoped, with names that differ from each other and from the format's.

    Names are compared without case, as many query engines do.
    """
    checks.at_most(messages, field, COLUMNS_MAX + BOUND_MAX)
    columns = []
    for index, message in enumerate(messages):
        at = f"{field}[{index}]"
        name = checks.name(message.name, f"{at}.name")
        if name.casefold() in FORMAT_COLUMNS:
            raise InvalidArgument(f"{name} is a column of the format", field=f"{at}.name")
        if message.type not in _TYPES:
            raise InvalidArgument(f"{at}.type cannot be promoted", field=f"{at}.type")
        attribute = checks.name(message.attribute, f"{at}.attribute")
        column = PromotedColumnRow(name, message.type, message.scope, attribute)
        if not any(column in columns for columns in RECEIPT_COLUMNS.values()):
            checked_scope(message.scope, f"{at}.scope")
        columns.append(column)
    checks.distinct([column.name.casefold() for column in columns], field)
    return tuple(columns)


def receipt_setting(column: PromotedColumnRow) -> str:
    """The setting that a column of receipt belongs to."""
    return "batch_ids" if column.scope == REQUEST_SCOPE else "record_ids"


def checked_scope(scope: int, field: str) -> int:
    """A scope of attributes. Raises InvalidArgument."""
    if scope not in _SCOPES:
        raise InvalidArgument(f"{field} is not set", field=field)
    return scope


def check_added_names(
    columns: Sequence[PromotedColumnRow], stored: Sequence[PromotedColumnRow], field: str
) -> None:
    """Refuse new columns with the name of a time's remainder, `<time>_nanos`, or of words.

    So are the names of automatic columns, which files have beside those of the dataset.
    One that is stored already, from before these names were reserved, may stay.
    """
    times = {c.name.casefold() for c in columns if c.kql_type == common_pb2.KQL_TYPE_DATETIME}
    reserved = WORD_COLUMNS | {f"{time}_nanos" for time in TIME_COLUMNS | times}
    stored_names = {column.name.casefold() for column in stored}
    for index, column in enumerate(columns):
        name = column.name.casefold()
        if name not in stored_names and (name in reserved or _AUTOMATIC_NAME.fullmatch(name)):
            raise InvalidArgument(
                f"{column.name} is a column that the format adds", field=f"{field}[{index}].name"
            )
