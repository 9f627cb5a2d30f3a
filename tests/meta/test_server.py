"""The server as a whole: health, reflection, malformed requests, ports."""

from dataclasses import replace

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from sqlalchemy import inspect

from meta import config
from meta.client import MetaClient
from meta.errors import Unauthenticated
from meta.process.exits import ConfigError
from meta.server import server
from meta.store.tables import metadata
from meta.v1.catalog_pb2 import ListDatasetsRequest
from tests.support.meta.server import MetaServer


def test_health_tells_that_the_database_answers(meta_server: MetaServer) -> None:
    with grpc.insecure_channel(meta_server.address) as channel:
        reply = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())

    assert reply.status == health_pb2.HealthCheckResponse.SERVING


def test_bytes_that_are_not_a_message_are_an_invalid_argument(meta_server: MetaServer) -> None:
    with grpc.insecure_channel(meta_server.address) as channel:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            "/meta.v1.CatalogService/CreateDataset"
        )

        with pytest.raises(grpc.RpcError) as refused:
            call(b"\xff\xff\xff", timeout=10)

    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_a_second_server_on_the_port_is_refused_in_one_line(meta_server: MetaServer) -> None:
    with pytest.raises(ConfigError, match="cannot listen on 127"):
        server.start(meta_server.settings)


def test_a_database_that_does_not_answer_is_named(meta_server: MetaServer) -> None:
    away = replace(
        meta_server.settings,
        bind="127.0.0.1:0",
        database=replace(meta_server.settings.database, url="postgresql://127.0.0.1:1/nothing"),
        database_wait_secs=0,
    )

    with pytest.raises(ConfigError, match="does not answer"):
        server.start(away)


@pytest.mark.parametrize(
    ("name", "message"),
    [("web ", "begins or ends with a blank"), (" " * 300, "has 300 characters")],
    ids=["blank", "long"],
)
def test_a_bad_name_of_the_first_dataset_is_refused_before_it_exists(
    meta_settings: config.Settings, name: str, message: str
) -> None:
    settings = replace(meta_settings, default_dataset=name)

    with pytest.raises(ConfigError, match=f"META_DEFAULT_DATASET {message}") as refused:
        server.start(settings)

    assert len(str(refused.value)) < 100


def test_migrations_make_the_schema_of_the_tables_module(meta_server: MetaServer) -> None:
    found = inspect(meta_server.running.database.engine)

    tables = set(found.get_table_names()) - {"alembic_version"}

    assert tables == set(metadata.tables)
    for name, table in metadata.tables.items():
        assert {c["name"] for c in found.get_columns(name)} == {c.name for c in table.columns}


def test_a_server_with_an_auth_token_answers_only_those_who_send_it(
    meta_settings: config.Settings,
) -> None:
    running = server.start(replace(meta_settings, auth_token="open sesame"))
    address = f"127.0.0.1:{running.port}"

    try:
        with MetaClient(address) as stranger, pytest.raises(Unauthenticated):
            stranger.catalog.ListDatasets(ListDatasetsRequest())
        with MetaClient(address, auth_token="open sesame") as friend:
            reply = friend.catalog.ListDatasets(ListDatasetsRequest())
    finally:
        running.stop(2.0)

    assert [item.name for item in reply.items] == ["default"]
