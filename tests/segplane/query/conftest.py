"""A dataset with segments of several days and kinds, and queries over it."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from segplane.query.engine import QueryLimits, RunningQuery, opened_query
from segplane.query.plan import QueryPlan
from segplane.query.runs import Language, define_views, plan
from segplane.query.sources import QueryPlace
from segplane.read.bounds import TimeBounds
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer

NOW = datetime(2026, 2, 1, tzinfo=UTC)


class QueryDriver:
    """Runs queries against a meta."""

    def __init__(self, server: MetaServer) -> None:
        self.server = server
        self.client = server.client
        self.address = server.address

    def plan(self, text: str, language: Language | None = None) -> QueryPlan:
        """Check and plan a query."""
        return plan(self.client, text, language, NOW)

    def run(
        self,
        planned: QueryPlan,
        call: Callable[[RunningQuery], Any],
        *,
        as_of: int | datetime | None = None,
        bounds: TimeBounds | None = None,
        limits: QueryLimits | None = None,
    ) -> Any:
        """Call something with the opened query."""
        place = QueryPlace(self.address, as_of, bounds or TimeBounds())
        with opened_query(planned, place, limits, prepare=define_views(planned)) as query:
            return call(query)

    def rows(self, text: str, **options: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        table = self.run(self.plan(text), lambda query: query.reader().read_all(), **options)
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.fixture
def segments(meta_server: MetaServer, tmp_path: Path) -> SegmentWriter:
    location = meta_server.settings.location
    if location.provider == "file":
        Path("/", location.path).mkdir(exist_ok=True)
    dataset = CatalogDriver(meta_server.client).dataset("web")
    return SegmentWriter(meta_server.client, dataset, tmp_path)


@pytest.fixture
def queries(meta_server: MetaServer) -> QueryDriver:
    """Give what runs queries."""
    return QueryDriver(meta_server)
