"""Every operator and function on Trino, which gives what DuckDB gives."""

from collections.abc import Iterator

import pytest

from kql.errors import NotOnEngine
from segments.location import StoreLocation
from segplane.cli.iceberg_settings import CatalogAddress
from tests.kql.cases import AGGREGATES, SCALARS
from tests.kql.test_engines import assert_values
from tests.kql.whole_queries import QUERIES
from tests.support.gateway.trino import TrinoServer
from tests.support.kql.trino import Trino

pytestmark = pytest.mark.readers
# Trino bounds the length of a statement and of what it compiles.
_TOGETHER = 25


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    """Give Trino with the rows; its catalog is asked for nothing."""
    folder = tmp_path_factory.mktemp("trino")
    store = StoreLocation.from_url(folder.as_uri())
    catalog = CatalogAddress("http://127.0.0.1:1/iceberg", store, has_token=False)
    server = TrinoServer(folder / "server", catalog)
    yield Trino(server)
    server.close()


def test_expressions_have_their_values(engine: Trino) -> None:
    for start in range(0, len(SCALARS), _TOGETHER):
        cases = SCALARS[start : start + _TOGETHER]
        columns = ", ".join(f"x{n} = {case[0]}" for n, case in enumerate(cases))
        rows = engine.run(f"rows | sort by id asc | project {columns}")
        for number, (expression, _, values) in enumerate(cases):
            try:
                assert_values([row[number] for row in rows], values)
            except AssertionError as error:
                raise AssertionError(f"{expression}: {error}") from None


def test_aggregates_have_their_values(engine: Trino) -> None:
    # Percentiles of Trino are approximate, so they are refused.
    cases = [case for case in AGGREGATES if not case[0].startswith("percentile")]
    columns = ", ".join(f"x{n} = {case[0]}" for n, case in enumerate(cases))

    row = engine.run(f"rows | summarize {columns}")[0]

    for found, (aggregate, _, value) in zip(row, cases, strict=True):
        try:
            assert_values([found], [value])
        except AssertionError as error:
            raise AssertionError(f"{aggregate}: {error}") from None


@pytest.mark.parametrize(("query", "rows"), QUERIES, ids=[case[0] for case in QUERIES])
def test_a_query_gives_its_rows(engine: Trino, query: str, rows: list[tuple[object, ...]]) -> None:
    if "mv-expand" in query or "percentile" in query:
        with pytest.raises(NotOnEngine, match="is not available on trino"):
            engine.run(query)
        return
    # Without a sort the order is Trino's own.
    if " by " in query:
        assert engine.run(query) == rows
    else:
        assert sorted(engine.run(query), key=repr) == sorted(rows, key=repr)
