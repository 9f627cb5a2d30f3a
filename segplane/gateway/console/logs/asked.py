"""Requests for logs: everything that a person chose, as it is in the address."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from starlette.datastructures import QueryParams

from segplane.gateway.console.addresses import address_of, changed_address, dataset_of, zone_of
from segplane.gateway.console.logs.fields import (
    FieldValue,
    LogField,
    parse_field,
    parse_field_value,
)
from segplane.gateway.console.time_range import NANOS_MAX, TimeRange, parse_range
from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.management.times import nanos_of

COLUMNS_MAX = 10
FILTERS_MAX = 20
FACETS_MAX = 4
LOGS_PATH = "/ui/logs"
_DIGEST_CHARACTERS = 64
_SHOWN = re.compile("[0-9]{1,9}")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class RecordKey:
    """The time of a record, RFC 3339 with nine digits, and the digest among equal times."""

    time: str
    digest: str

    @property
    def nanos(self) -> int:
        """The time in nanoseconds since 1970."""
        return nanos_of(self.time)


@dataclass(frozen=True, slots=True)
class PageCursor:
    """The last record of a page, and how many records that are alike in its key were shown."""

    key: RecordKey
    shown: int

    def text(self) -> str:
        """Return it as an address has it."""
        return f"{self.key.time} {self.key.digest} {self.shown}"


@dataclass(frozen=True, slots=True)
class LogsAsk:
    """A dataset, and which of its logs are shown how."""

    dataset: str
    range: TimeRange
    search: str = ""
    only: tuple[FieldValue, ...] = ()
    excluded: tuple[FieldValue, ...] = ()
    columns: tuple[LogField, ...] = ()
    facets: tuple[LogField, ...] = ()
    # The page begins behind this record; None = at the newest.
    after: PageCursor | None = None
    # The person's choice of UTC or local time, which scripts read.
    zone: str = ""

    def parameters(self, *without: str) -> list[tuple[str, str]]:
        """Return the parameters of its address, without some of them."""
        pairs = [("dataset", self.dataset), ("q", self.search), *self.range.parameters().items()]
        pairs += [("only", each.text()) for each in self.only]
        pairs += [("not", each.text()) for each in self.excluded]
        pairs += [("columns", each.text()) for each in self.columns]
        pairs += [("tz", self.zone), ("after", self.after.text() if self.after else "")]
        return [(name, value) for name, value in pairs if value and name not in without]

    def address(self, path: str = LOGS_PATH, *others: tuple[str, str]) -> str:
        """Return its address, with further parameters."""
        return address_of(path, [*self.parameters(), *others])

    def at_range(self, range_: TimeRange) -> "LogsAsk":
        """Return the same search of another time, from its newest record on."""
        return replace(self, range=range_, after=None)

    def including(self, value: FieldValue) -> "LogsAsk":
        """Return the search of the records that have a value too."""
        return replace(self, only=_with(self.only, value), after=None)

    def excluding(self, value: FieldValue) -> "LogsAsk":
        """Return the search of the records that do not have a value."""
        return replace(self, excluded=_with(self.excluded, value), after=None)

    def without_filter(self, value: FieldValue) -> "LogsAsk":
        """Return the search without a filter."""
        only = tuple(each for each in self.only if each != value)
        excluded = tuple(each for each in self.excluded if each != value)
        return replace(self, only=only, excluded=excluded, after=None)

    def with_column(self, column: LogField) -> "LogsAsk":
        """Return the same page with one more column."""
        return replace(self, columns=_with(self.columns, column))

    def without_column(self, column: LogField) -> "LogsAsk":
        """Return the same page without a column."""
        return replace(self, columns=tuple(c for c in self.columns if c != column))


def parse_ask(parameters: QueryParams, now_nanos: int) -> LogsAsk:
    """Parse the parameters of an address. Raises QueryRefusal."""
    after = parameters.get("after", "")
    return LogsAsk(
        dataset_of(parameters),
        parse_range(parameters, now_nanos),
        parameters.get("q", ""),
        tuple(map(parse_field_value, _several(parameters, "only", FILTERS_MAX))),
        tuple(map(parse_field_value, _several(parameters, "not", FILTERS_MAX))),
        tuple(map(parse_field, _several(parameters, "columns", COLUMNS_MAX))),
        tuple(map(parse_field, _several(parameters, "facets", FACETS_MAX))),
        _cursor(after) if after else None,
        zone_of(parameters),
    )


def parse_key(time: str, digest: str) -> RecordKey:
    """Parse the key of a record. Raises QueryRefusal."""
    try:
        is_key = 0 <= nanos_of(time) <= NANOS_MAX
        is_key &= len(digest) == _DIGEST_CHARACTERS and int(digest, 16) >= 0
    except ValueError:
        is_key = False
    if not is_key or not digest.isalnum():
        raise changed_address("record")
    return RecordKey(time, digest)


def _cursor(text: str) -> PageCursor:
    match text.split(" "):
        case [time, digest, shown] if _SHOWN.fullmatch(shown):
            return PageCursor(parse_key(time, digest), int(shown))
    raise changed_address("page")


def _several(parameters: QueryParams, name: str, most: int) -> Sequence[str]:
    texts = list(dict.fromkeys(text for text in parameters.getlist(name) if text))
    if len(texts) > most:
        raise QueryRefusal(f"{name} is given {len(texts)} times: at most {most} are read")
    return texts


def _with(items: Iterable[Item], item: Item) -> tuple[Item, ...]:
    return tuple(dict.fromkeys((*items, item)))
