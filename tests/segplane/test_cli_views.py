"""Views on the command line: lists, and the SQL they stand for, which runs."""

import json

import duckdb
import pytest

from meta.client import MetaClient
from meta.v1 import catalog_pb2 as pb
from meta.v1.common_pb2 import KQL_TYPE_LONG, KQL_TYPE_STRING, Column
from tests.support.command_line import RunCommand
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.schemas import make_projection, make_schema, make_view

CODE = "http.response.status_code"


@pytest.fixture
def view(meta_client: MetaClient) -> str:
    """Link a view to two datasets through two projections."""
    catalog = CatalogDriver(meta_client)
    columns = [
        Column(name="service", type=KQL_TYPE_STRING),
        Column(name="code", type=KQL_TYPE_LONG),
    ]
    view_id = make_view(meta_client, "failures", schema_id=make_schema(meta_client, "s", *columns))
    projections = {
        "web": f"extend code = toint(attributes['{CODE}']) | where code >= 500"
        " | project code, service = service_name, body",
        "db's": "where severity_number > 16 | project service = 'db', code = 0",
    }
    for dataset, text in projections.items():
        meta_client.catalog.LinkViewDatasetProjection(
            pb.LinkViewDatasetProjectionRequest(
                dataset_id=catalog.dataset(dataset),
                view_id=view_id,
                projection_id=make_projection(meta_client, dataset, text),
            )
        )
    return view_id


def test_a_view_is_printed_as_sql_that_runs(run: RunCommand, view: str) -> None:
    connection = duckdb.connect()
    # Tables with the columns that the view uses, and no others.
    connection.execute(
        "CREATE TABLE web AS SELECT * FROM (VALUES ('cart', '{\"http.response.status_code\":503}'),"
        " ('cart', '{\"http.response.status_code\":200}'), (NULL, '{}'))"
        " AS t (service_name, attributes)"
    )
    connection.execute('CREATE TABLE "db\'s" AS SELECT unnest([17, 1]) AS severity_number')

    sql = run("views", "show", "--sql", "failures").stdout

    rows = connection.execute(sql).fetchall()
    assert sorted(rows) == [("cart", 503), ("db", 0)]
    assert [column[0] for column in connection.description or ()] == ["service", "code"]
    for dialect in ("spark", "trino"):
        assert "UNION ALL" in run("views", "show", "--sql", "failures", "--dialect", dialect).stdout


def test_views_are_listed_with_their_links(run: RunCommand, view: str) -> None:
    table = run("views", "list").stdout.splitlines()
    listed = json.loads(run("views", "list", "--json").stdout)

    assert table[1].split()[:3] == ["failures", "2", "0"]
    assert [item["id"] for item in listed] == [view]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("sql", "nothing"), 1, "there is no such view"),
        (("sql", "empty"), 1, "view 'empty' reads no dataset: link it"),
        (("sql", "empty", "--dialect", "mysql"), 2, "--dialect is 'mysql', not one of duckdb"),
    ],
)
def test_what_cannot_be_printed_is_refused_in_one_line(
    run: RunCommand, meta_client: MetaClient, arguments: tuple[str, ...], code: int, message: str
) -> None:
    make_view(meta_client, "empty")

    refused = run("views", *arguments)

    assert refused.exit_code == code
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr
