"""Kusto's REST API, by the package that Kusto's users have: azure-kusto-data."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pytest
from azure.kusto.data import ClientRequestProperties, KustoClient, KustoConnectionStringBuilder
from azure.kusto.data.exceptions import KustoApiError, KustoServiceError, KustoThrottlingError
from azure.kusto.data.helpers import dataframe_from_result_table

from kql.dataset_table import dataset_table
from meta.v1 import catalog_pb2
from segplane.gateway.queries.settings import QuerySettings
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import rename
from tests.support.meta.groups import create_group
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

COLUMNS = dict(dataset_table("web", has_words=True).columns)
TYPED = """print b = true, i = int(3), l = 9007199254740993, r = 0.5, n = real(nan), f = real(-inf),
    s = "a\\"b\\né", d = datetime(2026-01-02T03:04:05.678901Z), t = 1d + 2h + 1tick, u = -90s,
    g = guid(74be27de-1e4e-49d9-b579-fe0b331d3642), j = dynamic({"a": [1, null]}),
    no_l = long(null), no_d = datetime(null), no_t = timespan(null), no_r = real(null)"""


@pytest.fixture
def kusto(gateway: GatewayServer, segments: SegmentWriter) -> Iterator[KustoClient]:
    """Connect the client to a gateway over a dataset with three records."""
    segments.write(rows=3)
    with KustoClient(KustoConnectionStringBuilder(gateway.server)) as client:
        yield client


def table_of(client: KustoClient, text: str) -> Any:
    (table,) = client.execute("segplane", text).primary_results
    return table


def test_values_of_every_type_come_as_they_are(kusto: KustoClient) -> None:
    table = table_of(kusto, TYPED)
    row = table[0].to_dict()

    assert {c.column_name: c.column_type for c in table.columns if "no" not in c.column_name} == {
        "b": "bool", "i": "int", "l": "long", "r": "real", "n": "real", "f": "real", "s": "string",
        "d": "datetime", "t": "timespan", "u": "timespan", "g": "guid", "j": "dynamic",
    }  # fmt: skip
    assert (row["b"], row["i"], row["l"], row["r"]) == (True, 3, 9007199254740993, 0.5)
    assert (row["n"], row["f"], row["s"]) == ("NaN", "-Infinity", 'a"b\né')
    assert row["d"] == datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)
    # Python's timedelta has no tick of 100 ns.
    assert (row["t"], row["u"]) == (timedelta(days=1, hours=2), timedelta(seconds=-90))
    assert (row["g"], row["j"]) == ("74be27de-1e4e-49d9-b579-fe0b331d3642", {"a": [1, None]})
    assert [row[name] for name in ("no_l", "no_d", "no_t", "no_r")] == [None] * 4


def test_a_result_becomes_a_data_frame(kusto: KustoClient) -> None:
    frame = dataframe_from_result_table(table_of(kusto, TYPED))
    rows = dataframe_from_result_table(table_of(kusto, "web"))
    nothing = dataframe_from_result_table(table_of(kusto, "web | where body == 'no such'"))

    assert {name: str(frame[name].dtype) for name in ("b", "i", "l", "r", "d")} == {
        "b": "bool", "i": "Int32", "l": "Int64", "r": "Float64", "d": "datetime64[ns, UTC]",
    }  # fmt: skip
    value = frame.iloc[0]
    assert (value["l"], value["f"]) == (9007199254740993, float("-inf"))
    assert value["d"] == pd.Timestamp("2026-01-02T03:04:05.678901Z")
    assert value["t"] == pd.Timedelta(days=1, hours=2, nanoseconds=100)
    assert value["u"] == pd.Timedelta(seconds=-90)
    assert pd.isna(value["no_l"])
    assert pd.isna(value["no_d"])
    assert (len(rows), list(rows.columns)) == (3, list(COLUMNS))
    assert (len(nothing), list(nothing.columns)) == (0, list(COLUMNS))


def test_a_result_is_read_while_it_comes(kusto: KustoClient) -> None:
    hundred = f"dynamic({list(range(100))})"
    text = (
        f"print a = {hundred}, b = {hundred} | mv-expand i = a to typeof(long)"
        " | mv-expand j = b to typeof(long) | project n = i * 100 + j"
    )

    answer = kusto.execute_streaming_query("segplane", text)
    rows = [row["n"] for row in next(answer.iter_primary_results())]
    rest = list(answer)

    assert sorted(rows) == list(range(10_000))
    assert (len(rest), answer.errors_count) == (1, 0)


def test_control_commands_name_databases_tables_and_columns(kusto: KustoClient) -> None:
    tables = table_of(kusto, ".show tables")
    (schema,) = table_of(kusto, ".show table ['web']  cslschema")

    assert [row["DatabaseName"] for row in table_of(kusto, ".show databases")] == ["segplane"]
    assert {row["TableName"] for row in tables} == {"default", "web"}
    assert dict(column.split(":") for column in schema["Schema"].split(",")) == COLUMNS


def test_a_group_is_a_database(kusto: KustoClient, meta_server: MetaServer) -> None:
    def value(database: str, text: str) -> object:
        (table,) = kusto.execute(database, text).primary_results
        return table[0][0]

    # Any name means the default group until there is a group.
    assert value("other", "web | count") == 3
    client = meta_server.client
    create_group(client, "shop")
    web = client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name="web")).id
    rename(client, web, "shop/web")
    CatalogDriver(client).dataset("web")

    assert value("shop", "web | count") == 3
    assert value("segplane", "web | count") == 0
    assert value("segplane", "database('shop').web | count") == 3
    assert value("shop", "union web, database('segplane').web | count") == 3
    assert value("shop", ".show table web cslschema") == "web"
    databases = kusto.execute_mgmt("segplane", ".show databases").primary_results[0]
    assert [row["DatabaseName"] for row in databases] == ["segplane", "shop"]
    tables = kusto.execute_mgmt("shop", ".show tables").primary_results[0]
    assert [(row["TableName"], row["DatabaseName"]) for row in tables] == [("web", "shop")]
    tables = kusto.execute_mgmt("segplane", ".show tables").primary_results[0]
    assert {row["TableName"] for row in tables} == {"default", "web"}
    for text in ("web | count", ".show tables"):
        with pytest.raises(KustoApiError, match="there is no database 'other'"):
            kusto.execute("other", text)
    with pytest.raises(KustoApiError, match="no dataset or view 'shop/api'"):
        kusto.execute("shop", "api | count")


REFUSED: tuple[tuple[str, str], ...] = (
    ("wbe | count", "1:1: there is no dataset or view 'wbe'; did you mean"),
    ("web | where bodi == ''", "1:13: there is no column 'bodi'"),
    (".drop table web", "'.drop table web' is not known: there are .show databases"),
    (".show table wbe cslschema", "there is no dataset or view 'wbe': .show tables names them"),
    ("// nothing", "1:"),
)


def test_what_cannot_be_asked_is_said_in_one_line(kusto: KustoClient) -> None:
    for text, message in REFUSED:
        with pytest.raises(KustoApiError) as refused:
            kusto.execute("segplane", text)
        error = refused.value.get_api_error()
        assert (error.type, error.permanent) == ("BadRequest", True)
        assert message in str(error.message)
        assert (error.message, "\n" in str(error.message)) == (str(refused.value), False)

    properties: Any = ClientRequestProperties()  # type: ignore[no-untyped-call]
    properties.set_parameter("name", "web")
    with pytest.raises(KustoApiError, match="write their values into the query"):
        kusto.execute("segplane", "declare query_parameters(name:string); web", properties)
    with pytest.raises(KustoApiError, match="csl is not text"):
        kusto.execute("segplane", " ")


def is_throttled(client: KustoClient) -> bool:
    try:
        client.execute("segplane", "print x = 2")
    except KustoThrottlingError:
        return True
    return False


def test_callers_are_known_by_their_token(meta_server: MetaServer, query_pool: SharedPool) -> None:
    settings = QuerySettings(caller_secs=1e-6)
    gateway = GatewayServer(
        meta_server.address, pool=query_pool, auth_token="a-long-secret", queries=settings
    )
    try:
        with_token = KustoConnectionStringBuilder.with_aad_user_token_authentication
        with KustoClient(with_token(gateway.server, "a-long-secret")) as client:
            assert table_of(client, "print x = 1")[0]["x"] == 1
            # A query is accounted for once its answer is sent.
            wait_until(lambda: is_throttled(client), "the hour is used up")
        for token in ("another", "segp_unknown"):
            with (
                KustoClient(with_token(gateway.server, token)) as client,
                pytest.raises(KustoServiceError, match="401"),
            ):
                client.execute("segplane", "print x = 1")
    finally:
        gateway.close()
