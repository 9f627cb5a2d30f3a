"""A credential that is limited to a dataset of a group reads that one, by every door."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner
from pyiceberg.catalog import load_catalog

from meta.config import Settings
from meta.roles import Role
from segplane.__main__ import app
from segplane.read import ReadError, open_dataset
from segplane.read.spark.options import read_options
from segplane.read.spark.snapshot import open_snapshot
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.server import GatewayServer
from tests.support.meta.grouped_datasets import grouped
from tests.support.meta.guarded import GuardedServer, guarded

OTHERS = ("shop/other", "bank/theirs")
WHOLE = "union withsource=source database('shop').* | summarize n = count() by source"


@pytest.fixture
def guard(meta_settings: Settings, tmp_path: Path) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as guard:
        Path(urlsplit(meta_settings.location.url()).path).mkdir(parents=True, exist_ok=True)
        grouped(guard.admin, tmp_path, "shop", mine=3, other=2)
        grouped(guard.admin, tmp_path, "bank", theirs=1)
        yield guard


@pytest.fixture
def gateway(guard: GuardedServer, query_pool: SharedPool) -> Iterator[GatewayServer]:
    token = guard.token(Role.GATEWAY).plaintext_token
    server = GatewayServer(
        guard.address, token, pool=query_pool, meta_auth_token=token, auth_token="of-the-gateway"
    )
    yield server
    server.close()


@pytest.fixture
def limited(guard: GuardedServer) -> str:
    token = guard.token(Role.READER, "limited", dataset_names=["shop/mine"])
    return str(token.plaintext_token)


def test_queries_read_that_dataset_alone(gateway: GatewayServer, limited: str) -> None:
    bearer = {"Authorization": f"Bearer {limited}"}

    def rows(text: str) -> Any:
        return gateway.query(text, headers=bearer).json

    assert rows("database('shop').mine | summarize n = count()") == [{"n": 3}]
    assert rows('SELECT count(*) AS n FROM "shop/mine"') == [{"n": 3}]
    assert rows(WHOLE) == [{"source": "shop/mine", "n": 3}]
    assert rows("union database('shop').* | distinct x = dataset") == [{"x": "shop/mine"}]
    missing = gateway.query("union database('bank').*", headers=bearer)
    assert "there is no dataset in a group 'bank'" in missing.message
    for name in OTHERS:
        group, own = name.split("/")
        for text in (f"database('{group}').{own} | count", f'FROM "{name}" LIMIT 1'):
            refused = gateway.query(text, headers=bearer)
            assert refused.status == 400
            assert f"there is no dataset or view '{name}'" in refused.message
    every = gateway.query(WHOLE, headers={"Authorization": "Bearer of-the-gateway"}).json
    assert sorted(row["n"] for row in every) == [2, 3]


def test_kusto_shows_that_dataset_alone(gateway: GatewayServer, limited: str) -> None:
    bearer = {"Authorization": f"Bearer {limited}"}

    def shown(command: str, database: str = "segplane") -> set[str]:
        content = {"db": database, "csl": command}
        reply = gateway.post("v1/rest/mgmt", content, **bearer)
        assert reply.status == 200, reply.body
        return {row[0] for row in reply.json["Tables"][0]["Rows"]}

    def frames(csl: str, database: str) -> Any:
        return gateway.post("v2/rest/query", {"db": database, "csl": csl}, **bearer)

    assert shown(".show databases") == {"segplane", "shop"}
    assert shown(".show tables", "shop") == {"mine"}
    (table,) = [
        frame
        for frame in frames("union withsource=s database('shop').* | distinct s", "shop").json
        if frame.get("TableKind") == "PrimaryResult"
    ]
    assert table["Rows"] == [["mine"]]
    assert frames("other | count", "shop").status == 400
    assert frames("theirs | count", "bank").status == 400


def test_the_catalog_and_its_management_show_that_dataset_alone(
    gateway: GatewayServer, limited: str
) -> None:
    bearer = {"Authorization": f"Bearer {limited}"}
    catalog = load_catalog("limited", type="rest", uri=gateway.uri, token=limited)

    def status(path: str) -> int:
        return gateway.get(path, **bearer).status

    assert catalog.list_namespaces() == [("default",), ("shop",)]
    assert catalog.list_tables("shop") == [("shop", "mine")]
    assert catalog.load_table(("shop", "mine")).scan().to_arrow().num_rows == 3
    for path in ("shop/tables/other", "bank/tables/theirs", "default/tables/shop%2Fmine"):
        assert gateway.ask(f"v1/namespaces/{path}", **bearer).status == 404, path
    groups = gateway.get("v1/groups", **bearer).json["items"]
    assert [group["name"] for group in groups] == ["shop"]
    listed = gateway.get("v1/groups/shop/datasets?columns=false", **bearer).json["items"]
    assert [dataset["name"] for dataset in listed] == ["mine"]
    assert len(gateway.get("v1/groups/shop/datasets/mine/preview", **bearer).json) == 3
    assert status("v1/groups/shop/datasets/mine") == 200
    for name in OTHERS:
        group, own = name.split("/")
        assert status(f"v1/groups/{group}/datasets/{own}") == 404
        assert status(f"v1/groups/{group}/datasets/{own}/preview") == 404
    assert status("v1/groups/bank") == 404


def test_readers_and_commands_read_that_dataset_alone(
    guard: GuardedServer, limited: str, tmp_path: Path
) -> None:
    access = {"SEGPLANE_META_ADDRESS": guard.address, "SEGPLANE_META_AUTH_TOKEN": limited}

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, arguments, env=access)

    with open_dataset("shop/mine", meta_address=guard.address, token=limited) as dataset:
        assert dataset.to_table().num_rows == 3
    options = {"dataset": "shop/mine", "metaAddress": guard.address, "token": limited}
    assert open_snapshot(read_options(options)).dataset_name == "shop/mine"
    listed = json.loads(run("datasets", "list", "--json").stdout)
    assert [item["name"] for item in listed] == ["shop/mine"]
    assert [g["name"] for g in json.loads(run("groups", "list", "--json").stdout)] == ["shop"]
    names = run("sql", "-c", 'SELECT DISTINCT dataset FROM "shop/mine"', "--json").stdout
    # The server of the test logs to the standard output.
    assert json.loads(names[names.index("[\n") :]) == [{"dataset": "shop/mine"}]
    file = tmp_path / "answer.json"
    answer = run("query", WHOLE, "--format", "json", "--output", str(file))
    assert answer.exit_code == 0, answer.stderr
    assert json.loads(file.read_text()) == [{"source": "shop/mine", "n": 3}]
    for name in OTHERS:
        assert run("datasets", "show", name).exit_code == 1
        with pytest.raises(ReadError, match=f"there is no dataset '{name}'"):
            open_dataset(name, meta_address=guard.address, token=limited)
        with pytest.raises(ReadError, match=f"there is no dataset '{name}'"):
            open_snapshot(read_options(options | {"dataset": name}))
