"""`dataset` and `dataset_id`: read without being stored, shown only where a query names them."""

import pytest

from kql.dataset_table import dataset_table, promoted
from kql.errors import KqlError, UnknownColumn
from kql.pushdown.reads import reads_of
from kql.queries import compile_projection, compile_query
from kql.scope import CheckedQuery
from kql.sql.relations import to_sql
from kql.typed import Table

TABLES: dict[str, Table | CheckedQuery] = {
    "web": dataset_table("web", dataset_id="id-1"),
    "api": dataset_table("api", dataset_id="id-2"),
    "own": dataset_table("own", [promoted("dataset", "long", "record", "d")], dataset_id="id-3"),
}


def columns_of(query: str) -> dict[str, str]:
    return dict(compile_query(query, TABLES, 0).columns)


def sql(query: str) -> str:
    return to_sql(compile_query(query, TABLES, 0), "duckdb")


@pytest.mark.parametrize(
    "query",
    [
        "web | project x = dataset",
        "web | where dataset == 'web' | project x = dataset",
        "web | extend x = strcat(dataset, dataset_id) | project x",
        "web | project body | extend x = dataset | project x",
        "web | summarize n = count() by x = dataset | project x",
        "web | sort by dataset asc | take 5 | project x = dataset",
        "web.logs | project x = dataset",
        "union web, api | project x = dataset",
        "union web, api | project body | sort by body | take 2 | project x = dataset",
        "union (union web, api), api | mv-expand links | project x = dataset",
        "union web, api | where body in (web | project body) | project x = dataset",
        "union web, api | sort by body | serialize | extend n = row_number() | project x = dataset",
        "let t = web | where body has 'x'; t | project x = dataset",
        "union web, api | parse body with 'a' b | project x = dataset",
    ],
)
def test_a_query_that_names_them_reads_them(query: str) -> None:
    assert columns_of(query) == {"x": "string"}
    assert "'web'" in sql(query)
    assert all("dataset" not in read.columns for read in reads_of(compile_query(query, TABLES, 0)))


@pytest.mark.parametrize(
    "query",
    [
        "web",
        "union web, api",
        "web | where dataset == 'web'",
        "web | project-away body",
        "web | project-reorder *",
        "union web, api | where dataset_id == 'id-1' | sort by dataset asc",
        "web | extend x = dataset | project-away x",
        "web | getschema | project ColumnName",
    ],
)
def test_no_star_and_no_schema_shows_them(query: str) -> None:
    assert not {"dataset", "dataset_id", "$dataset", "$dataset_id"} & columns_of(query).keys()


def test_a_query_that_does_not_name_them_is_what_it_was() -> None:
    for query in ("web | project body", "union web, api | project body", "web | count"):
        assert "id-1" not in sql(query)
        assert "dataset" not in sql(query)
    # Rows of two datasets that are equal otherwise are one.
    assert "$dataset" not in sql("union web, api | distinct body")


def test_a_stored_column_and_a_let_of_that_name_win() -> None:
    assert columns_of("own | project dataset, dataset_id") == {
        "dataset": "long",
        "dataset_id": "string",
    }
    assert "'x'" in sql("let dataset = 'x'; web | project y = dataset")
    assert columns_of("web | extend dataset = 1 | project dataset") == {"dataset": "long"}


@pytest.mark.parametrize(
    "query",
    [
        "web | summarize count() | project dataset",
        "web | distinct body | project dataset",
        "web | join api on trace_id | project dataset",
        "print x = 1 | project dataset",
        "union web, (print body = 'x') | project dataset",
    ],
)
def test_rows_that_are_of_no_dataset_alone_have_none(query: str) -> None:
    with pytest.raises(UnknownColumn, match="there is no column 'dataset'"):
        compile_query(query, TABLES, 0)


def test_a_name_that_a_union_carries_is_taken() -> None:
    with pytest.raises(KqlError, match=r"the name '\$dataset' is taken"):
        compile_query("union web, api | extend ['$dataset'] = 1", TABLES, 0)


def test_a_projection_has_none() -> None:
    table = TABLES["web"]
    assert isinstance(table, Table)

    # A view's rows would change with the name of its dataset.
    with pytest.raises(KqlError, match="there is no column 'dataset'"):
        compile_projection("project body, dataset", table)
