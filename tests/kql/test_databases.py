"""Groups as databases: `database('shop').web` is the dataset shop/web."""

import pytest

from kql.dataset_table import dataset_table
from kql.errors import KqlError
from kql.pushdown.reads import reads_of
from kql.queries import compile_query
from kql.scope import CheckedQuery
from kql.typed import Table

DATASETS = ("web", "api", "shop/web", "shop/it's", "bank/web", "shop/a.logs")
TABLES: dict[str, Table | CheckedQuery] = {name: dataset_table(name) for name in DATASETS}
TABLES |= {"errors": compile_query("web | where severity_number > 16", TABLES, 0)}


def read_by(query: str, group: str = "") -> list[str]:
    """The names of the datasets that a query reads."""
    return [read.name for read in reads_of(compile_query(query, TABLES, 0, group))]


@pytest.mark.parametrize(
    ("query", "group", "expected"),
    [
        ("database('shop').web", "", ["shop/web"]),
        ('database("shop").web | count', "", ["shop/web"]),
        (r"database('shop').['it\'s']", "", ["shop/it's"]),
        ("database('shop').web.logs", "", ["shop/web"]),
        ("database('shop').a.logs", "", ["shop/a.logs"]),
        ("['shop/web']", "", ["shop/web"]),
        ("database('segplane').web", "", ["web"]),
        ("database('default').web", "shop", ["web"]),
        ("web", "shop", ["shop/web"]),
        ("web", "segplane", ["web"]),
        ("web.logs", "shop", ["shop/web"]),
        ("database('bank').web", "shop", ["bank/web"]),
        ("errors", "shop", ["web"]),
        ("union database('shop').web, web", "bank", ["bank/web", "shop/web"]),
        ("let t = database('shop').web; t | take 1", "", ["shop/web"]),
        ("let web = api; database('segplane').web", "", ["web"]),
        ("let web = database('shop').web; web | count", "bank", ["shop/web"]),
        ("web | join (database('shop').web) on trace_id", "", ["shop/web", "web"]),
        ("web | where name in (database('shop').web | project name)", "", ["shop/web", "web"]),
        ("search in (database('shop').web) 'x'", "", ["shop/web"]),
    ],
)
def test_a_table_is_that_of_its_group(query: str, group: str, expected: list[str]) -> None:
    assert sorted(read_by(query, group)) == expected


@pytest.mark.parametrize(
    ("query", "group", "message"),
    [
        ("database('shop').api", "", "no dataset or view 'shop/api'"),
        ("api", "shop", "no dataset or view 'shop/api'"),
        ("database('none').web", "", "no dataset or view 'none/web'"),
        ("database('shop').errors", "", "no dataset or view 'shop/errors'"),
        ("database(shop).web", "", "expected the name of a group in quotes"),
        ("database('shop')", "", r"write: database\('group'\).name"),
        ("database('shop').web.nothing", "", "no dataset or view 'shop/web.nothing'"),
    ],
)
def test_another_table_is_refused(query: str, group: str, message: str) -> None:
    with pytest.raises(KqlError, match=message):
        compile_query(query, TABLES, 0, group)


def test_the_source_of_a_union_is_the_name_in_the_group() -> None:
    state = compile_query("union withsource=source database('shop').web, web", TABLES, 0)

    assert "source" in state.columns
