"""Requests of the query page: everything that a person chose, as it is in the address."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from starlette.datastructures import QueryParams

from segplane.gateway.console.addresses import address_of, zone_of
from segplane.gateway.console.time_range import parse_bound
from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.queries.processes.wire import QueryTask

LANGUAGES = ("kql", "sql")
QUERY_PATH = "/ui/query"
_VERSION_DIGITS_MAX = 18
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class QueryAsk:
    """A query, its language, and the version or the time that it is asked of."""

    language: str = "kql"
    text: str = ""
    version: str = ""
    at: str = ""
    # The dataset of the page before; the other pages continue with it.
    dataset: str = ""
    # The person's choice of UTC or local time, which scripts read.
    zone: str = ""

    def address(self, path: str = QUERY_PATH, *others: tuple[str, str]) -> str:
        """Return its address, with further parameters."""
        pairs = [
            ("dataset", self.dataset),
            ("lang", self.language),
            ("q", self.text),
            ("version", self.version),
            ("at", self.at),
            ("tz", self.zone),
            *others,
        ]
        return address_of(path, pairs)

    def task(self, format_: str, now_nanos: int) -> QueryTask:
        """Return what the query service runs. Raises QueryRefusal."""
        return QueryTask(self.text, self.language, format_, as_of=self._moment(now_nanos))

    def current(self) -> "QueryAsk":
        """Return the same query of what is visible now."""
        return replace(self, version="", at="")

    def _moment(self, now_nanos: int) -> int | datetime | None:
        if self.version and self.at:
            raise QueryRefusal("a version and a time are given: choose one of them")
        if self.version:
            is_number = self.version.isascii() and self.version.isdecimal()
            if not is_number or len(self.version) > _VERSION_DIGITS_MAX:
                raise QueryRefusal(f"version is {self.version[:80]!r}, expected a number")
            return int(self.version)
        if self.at:
            nanos = parse_bound("at", self.at, now_nanos).nanos
            return _EPOCH + timedelta(microseconds=nanos // 1_000)
        return None


def parse_query_ask(parameters: QueryParams) -> QueryAsk:
    """Parse the parameters of an address. Raises QueryRefusal."""
    language = parameters.get("lang") or LANGUAGES[0]
    if language not in LANGUAGES:
        raise QueryRefusal(f"lang is {language[:80]!r}, expected one of {', '.join(LANGUAGES)}")
    # Forms send two characters for the end of a line.
    text = parameters.get("q", "").replace("\r\n", "\n")
    version, at, dataset = (parameters.get(n, "").strip() for n in ("version", "at", "dataset"))
    return QueryAsk(language, text, version, at, dataset, zone_of(parameters))
