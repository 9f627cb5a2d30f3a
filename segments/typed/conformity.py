"""Records that violate the schema: a value that is present, not null, and does not fit its column.

`segments.parquet.columns.promoted_values.convert` decides whether a value fits a type, as for the
column itself: a record conforms exactly if no column is null for a value that its attribute has.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from segments.deduplication import EventWindow
from segments.parquet.columns.promoted_values import JsonValue, Unconvertible, convert
from segments.parquet.spec import PromotedColumn

# Misfits that a result lists; further ones are counted by their records.
MISFITS_MAX = 100
# Goes up when the rule or the division of payloads changes: a verdict is that of its release.
_RULE = "1"
_VERDICT_BYTES = 8
# Causes of records that are quarantined: a value that does not fit its column of the bound schema,
# and an event of a time that its dataset refuses.
SCHEMA_VIOLATION = "schema_violations"
# The same in notes that builds before 0.3.0 wrote.
FORMER_SCHEMA_VIOLATION = "nonconforming"
OUTSIDE_WINDOW = "outside_window"


@dataclass(frozen=True, slots=True)
class ColumnMisfit:
    """A value that does not fit its column; `record` is the record's place in its payload, from 0.

    `reason` names the kind of the value and the type, and never quotes the value.
    """

    record: int
    column: str
    reason: str

    def text(self) -> str:
        """One line for a person."""
        return f"record {self.record}, {self.column}: {self.reason}"


@dataclass(slots=True)
class SchemaMisfits:
    """The records of a payload that violate the schema, ascending, and the first misfits."""

    records: list[int] = field(default_factory=list)
    misfits: list[ColumnMisfit] = field(default_factory=list)
    # How many of the records are outside the window of events.
    num_outside: int = 0

    def add(self, record: int, reasons: Iterable[tuple[str, str]]) -> None:
        """Add a record with the columns that it does not fit, each with its reason."""
        self.records.append(record)
        for column, reason in sorted(reasons):
            if len(self.misfits) == MISFITS_MAX:
                return
            self.misfits.append(ColumnMisfit(record, column, reason))

    def text(self, misfits_max: int) -> str:
        """The first misfits in one line, and how many records there are beyond them."""
        shown = self.misfits[:misfits_max]
        more = len(self.records) - len({misfit.record for misfit in shown})
        lines = [misfit.text() for misfit in shown] + [f"and {more} further records"] * bool(more)
        return "; ".join(lines)


def misfit(value: JsonValue, kql_type: str) -> str:
    """Return why a value does not fit a type; "" if it fits, or is null."""
    try:
        convert(value, kql_type)
    except Unconvertible:
        return f"{_kind(value)} that is no {kql_type}"
    return ""


def outside_reason(time_nanos: int, window: EventWindow) -> tuple[str, str]:
    """Name the column of a time outside a window, and say why its event is skipped."""
    time = datetime.fromtimestamp(time_nanos // 1_000_000_000, UTC)
    return "timestamp", f"{time.date()} is not in the window, {window.text}"


def verdict(
    dataset_id: str,
    columns: Iterable[PromotedColumn],
    window: tuple[PromotedColumn, EventWindow] | None = None,
) -> str:
    """Name the rule by which a dataset's records are judged, in 16 hexadecimal digits.

    Two judgements of one payload under one verdict are equal. `window` is that of a dataset that
    refuses events outside, with the column of their deduplication key.
    """
    digest = hashlib.blake2b(digest_size=_VERDICT_BYTES)
    digest.update(f"{_RULE}\0{dataset_id}".encode())
    for column in sorted(columns, key=lambda column: column.name):
        digest.update(_packed(column))
    if window is not None:
        column, days = window
        digest.update(f"\0\0{days.first_day}\0{days.last_day}".encode() + _packed(column))
    return digest.hexdigest()


def _packed(column: PromotedColumn) -> bytes:
    return "".join(f"\0{part}" for part in column.definition).encode()


def _kind(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int):
        return "a whole number"
    if isinstance(value, float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "an object"
