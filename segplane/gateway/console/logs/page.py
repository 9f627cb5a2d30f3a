"""Values that the templates of the logs page show, with the addresses behind them."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote, urlencode

from meta.v1 import resources_pb2
from segplane.gateway.console.logs.asked import LOGS_PATH, LogsAsk, PageCursor, RecordKey
from segplane.gateway.console.logs.fields import FieldValue, LogField
from segplane.gateway.console.logs.histogram import VALUE_CHARACTERS_MAX, Facet
from segplane.gateway.console.logs.records import LogRow
from segplane.gateway.console.logs.search import LogSearch
from segplane.gateway.console.logs.suggestions import suggested_facets
from segplane.gateway.console.time_range import absolute_range, parse_range
from segplane.gateway.management.times import text_of

_QUICK_RANGES = ("15m", "1h", "6h", "1d", "7d", "30d")
_MILLIS_NANOS = 10**6
_SEVERITY_CLASSES = ("trace", "debug", "info", "warn", "error", "fatal")


@dataclass(frozen=True, slots=True)
class ShownLink:
    """A link and its text; `is_chosen` marks what the page shows now."""

    text: str
    address: str
    is_chosen: bool = False


@dataclass(frozen=True, slots=True)
class LogsPage:
    """A search, its rows if they are there, and all links from it."""

    ask: LogsAsk
    search: LogSearch
    rows: Sequence[LogRow] = ()
    has_more: bool = False
    # Sentences about the search, such as of a word that finds nothing.
    warnings: Sequence[str] = ()
    # Of a dataset in which the search found nothing.
    numbers: resources_pb2.GetDatasetNumbersResponse | None = None

    def dataset_parameter(self) -> str:
        """Return the parameter of the dataset alone."""
        return urlencode({"dataset": self.ask.dataset}, quote_via=quote)

    def hidden(self, *without: str) -> list[tuple[str, str]]:
        """Return the parameters that a form keeps, without those that it asks for itself."""
        return self.ask.parameters("after", *without)

    def form_bounds(self) -> dict[str, str]:
        """Return the bounds of the time range, as the form has them."""
        return self.ask.range.parameters()

    def quick_ranges(self) -> Iterator[ShownLink]:
        """Yield the ranges that end now."""
        now_nanos = time.time_ns()
        for age in _QUICK_RANGES:
            bounds = {"from": f"-{age}", "to": "now"}
            address = self.ask.at_range(parse_range(bounds, now_nanos)).address()
            yield ShownLink(f"Last {age}", address, bounds == self.form_bounds())

    def other_ranges(self) -> Iterator[ShownLink]:
        """Yield the ranges around the present one."""
        range_ = self.ask.range
        for text, other in (
            ("Earlier", range_.previous()),
            ("Later", range_.next()),
            ("Zoom out", range_.zoomed_out()),
        ):
            yield ShownLink(text, self.ask.at_range(other).address())

    def all_records(self) -> ShownLink | None:
        """Return the range of all records of the dataset, None without numbers."""
        numbers = self.numbers
        if numbers is None or not numbers.HasField("start_time_nanos"):
            return None
        start, end = numbers.start_time_nanos, numbers.end_time_nanos
        ask = self.ask.at_range(absolute_range(start, end + 1))
        return ShownLink(f"{text_of(start)} to {text_of(end)}", ask.address())

    def absolute_address(self) -> str:
        """Return the address of the same page, whenever it is opened."""
        return replace(self.ask, range=self.ask.range.absolute()).address()

    def live_parameters(self) -> str:
        """Return the parameters of the search as a live view has them, whatever its times."""
        return urlencode(self.ask.parameters("from", "to", "after", "tz"), quote_via=quote)

    def live_address(self) -> str:
        """Return the address of the page that follows the search."""
        return f"{LOGS_PATH}/live?{self.live_parameters()}"

    def filters(self) -> Iterator[ShownLink]:
        """Yield the filters, with the page without each."""
        for values, sign in ((self.ask.only, "is"), (self.ask.excluded, "is not")):
            for value in values:
                text = f"{value.field.text()} {sign} {value.shown_value()}"
                yield ShownLink(text, self.ask.without_filter(value).address())

    def columns(self) -> Iterator[ShownLink]:
        """Yield the chosen columns, with the page without each."""
        for column in self.ask.columns:
            yield ShownLink(column.text(), self.ask.without_column(column).address())

    def newest_address(self) -> str:
        """Return the address of the first page, "" on it."""
        return replace(self.ask, after=None).address() if self.ask.after else ""

    def older_address(self) -> str:
        """Return the address of the next page, "" on the last one."""
        if not self.has_more:
            return ""
        before, key = self.ask.after, self.rows[-1].key
        shown = sum(row.key == key for row in self.rows)
        if before is not None and before.key == key:
            shown += before.shown
        return replace(self.ask, after=PageCursor(key, shown)).address()

    def record_address(self, row: LogRow) -> str:
        """Return the address of a record."""
        return address_of_record(self.ask, row.key)

    def histogram_address(self) -> str:
        """Return the address of the histogram, with facets of what the rows have."""
        facets = (("facets", field.text()) for field in suggested_facets(self.rows))
        return replace(self.ask, after=None).address(f"{LOGS_PATH}/histogram", *facets)

    def values_address(self) -> str:
        """Return the path of the values of a field, which a form asks for."""
        return f"{LOGS_PATH}/values"

    def only_address(self, value: FieldValue) -> str:
        """Return the address of the records that have a value too."""
        return self.ask.including(value).address()

    def not_address(self, value: FieldValue) -> str:
        """Return the address of the records that do not have a value."""
        return self.ask.excluding(value).address()

    def column_address(self, field: LogField) -> str:
        """Return the address of the page with one more column."""
        return self.ask.with_column(field).address()

    def trace_address(self, trace_id: str) -> str:
        """Return the address of a trace."""
        return f"/ui/traces/{quote(trace_id, safe='')}?{self.dataset_parameter()}"

    def around_address(self, key: RecordKey, by: str = "") -> str:
        """Return the address of the records around one, of its service or of its resource."""
        parameters = {"dataset": self.ask.dataset, "at": key.time, "digest": key.digest}
        parameters |= {"by": by} if by else {}
        return f"{LOGS_PATH}/around?{urlencode(parameters, quote_via=quote)}"

    def facet_links(self, facet: Facet) -> Iterator[tuple[str, int, str, str]]:
        """Yield each value with its count, and the pages with and without it, "" of a long one."""
        for value, count in facet.values:
            chosen = FieldValue(facet.field, value)
            only, without = self.only_address(chosen), self.not_address(chosen)
            if value is not None and len(value) > VALUE_CHARACTERS_MAX:
                value, only, without = f"{value[:VALUE_CHARACTERS_MAX]}…", "", ""
            yield "(none)" if value is None else value, count, only, without

    def bucket_address(self, start_ms: int, step_ms: int) -> str:
        """Return the address of the records of a bucket."""
        start = start_ms * _MILLIS_NANOS
        return self.ask.at_range(absolute_range(start, start + step_ms * _MILLIS_NANOS)).address()


def address_of_record(ask: LogsAsk, key: RecordKey) -> str:
    """Return the address of a record, which keeps the search that it was found by."""
    kept = replace(ask, after=None)
    return kept.address(f"{LOGS_PATH}/record", ("at", key.time), ("digest", key.digest))


def severity_class(severity: str) -> str:
    """Return the class of a severity's style."""
    folded = severity.lower()
    return folded if folded in _SEVERITY_CLASSES else "none"


def time_text(nanos: int) -> str:
    """Return a time for people and scripts."""
    return text_of(nanos)
