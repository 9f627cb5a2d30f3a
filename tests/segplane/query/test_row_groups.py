"""Row groups that queries read, by DuckDB's own count, over files of the project's writer."""

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from segments.parquet.spec import SegmentSpec
from segments.signals import SIGNALS, Signal
from segplane.query.engine import RunningQuery
from segplane.read.bounds import TimeBounds
from tests.segplane.query.conftest import QueryDriver
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.schemas import link_view
from tests.support.meta.segments import DAY, EPOCH
from tests.support.parquet.rows import rows_of

# A file for each day and service, with a row group for each signal.
DAYS, SERVICES, ROWS = 3, ("cart", "web-shop"), 400
FILES = DAYS * len(SERVICES)
ALL = FILES * len(SIGNALS)
TRACE = "0af7651916cd43dd8448eb211c80319c"


def replaced(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    if name not in table.schema.names:
        return table
    field = table.schema.field(name)
    is_dictionary = pa.types.is_dictionary(field.type)
    column = pa.array(values, pa.string() if is_dictionary else field.type)
    place = table.schema.get_field_index(name)
    return table.set_column(place, field, column.dictionary_encode() if is_dictionary else column)


@pytest.fixture
def written(segments: SegmentWriter) -> SegmentWriter:
    """Six files; one trace has a span in the first of them."""
    for day in range(DAYS):
        for service in SERVICES:
            tables: dict[Signal, pa.Table] = {}
            for signal in SIGNALS:
                start = EPOCH + day * DAY
                table = rows_of(signal, ROWS, SegmentSpec(), day)
                table = replaced(table, "timestamp", [start + n * DAY // ROWS for n in range(ROWS)])
                table = replaced(table, "service_name", [service] * ROWS)
                ids = [f"{day:08x}{number:024x}" for number in range(ROWS)]
                if signal == "traces" and (day, service) == (0, "cart"):
                    ids[7] = TRACE
                tables[signal] = replaced(table, "trace_id", ids)
            segments.register(tables, SegmentSpec())
    return segments


def profile(query: RunningQuery) -> dict[str, Any]:
    """Run a query and return what DuckDB measured."""
    ((_, text),) = query.rows(f"EXPLAIN (ANALYZE, FORMAT json) {query.plan.sql}")
    measured: dict[str, Any] = json.loads(str(text))
    return measured


def scans(node: Any) -> Iterator[dict[str, Any]]:
    """Yield the scans of a profile."""
    if isinstance(node, dict):
        if "row_groups_scanned" in node:
            yield node
        for value in node.values():
            yield from scans(value)
    elif isinstance(node, list):
        for value in node:
            yield from scans(value)


def groups_read(queries: QueryDriver, text: str, **options: Any) -> int:
    """Return how many row groups a query reads of its files."""
    measured = queries.run(queries.plan(text), profile, **options)
    return sum(int(scan["row_groups_scanned"]) for scan in scans(measured))


def moment(nanos: int) -> str:
    return f"(datetime(1970-01-01) + {nanos // 1_000} * 1microsecond)"


NOON = EPOCH + DAY + DAY // 2
TEN_MINUTES = f"timestamp >= {moment(NOON)} and timestamp < {moment(NOON)} + 10m"
# Of DuckDB 2.0, which reads statistics and bloom filters, and no page indexes.
CASES = {
    "every one": ("where strlen(body) >= 0 or true", ALL),
    "ten minutes": (f"where {TEN_MINUTES}", len(SERVICES) * len(SIGNALS)),
    "signal, service and time": (
        f"where signal == 'traces' and service_name == 'cart' and {TEN_MINUTES}",
        1,
    ),
    "a trace id that is there": (f"where trace_id == '{TRACE}'", 1),
    "a trace id that is there, by in": (f"where trace_id in ('{TRACE}', 'f')", 1),
    "a trace id that is not there": (f"where trace_id == '{TRACE[::-1]}'", 0),
    "a service": ("where service_name == 'cart'", ALL // 2),
    "a service by startswith_cs": ("where service_name startswith_cs 'web'", ALL // 2),
    "services by in": ("where service_name in ('cart', 'none')", ALL // 2),
    "a service by has": ("where service_name has 'cart'", ALL // 2),
}


def test_conditions_skip_row_groups(written: SegmentWriter, queries: QueryDriver) -> None:
    found = {
        name: groups_read(queries, f"web | {condition} | summarize count(), max(timestamp)")
        for name, (condition, _) in CASES.items()
    }

    assert found == {name: groups for name, (_, groups) in CASES.items()}


@pytest.mark.long
def test_a_view_that_changes_the_time_is_pruned_by_raw_bounds(
    written: SegmentWriter, queries: QueryDriver
) -> None:
    link_view(queries.client, written.dataset, "plain", "project at = timestamp, body")
    link_view(queries.client, written.dataset, "cast", "project at = bin(timestamp, 1m), body")
    link_view(
        queries.client,
        written.dataset,
        "bound",
        f"where {TEN_MINUTES} | project at = bin(timestamp, 1m)",
    )
    outside = TEN_MINUTES.replace("timestamp", "at")
    inside = TimeBounds(NOON, NOON + 600 * 10**9)
    few = len(SERVICES) * len(SIGNALS)
    text = "{} | where " + outside + " | summarize count(), max(at)"

    assert groups_read(queries, text.format("plain")) == few
    assert groups_read(queries, text.format("cast")) == ALL
    assert groups_read(queries, text.format("cast"), bounds=inside) == few
    assert groups_read(queries, text.format("bound")) == few
    rows = queries.rows(text.format("cast"))
    assert queries.rows(text.format("cast"), bounds=inside) == rows
    assert queries.rows(text.format("bound")) == rows
