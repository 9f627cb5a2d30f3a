"""A dataset that was renamed goes on under its new name, and is read at old versions by the old."""

import json
import sys
from collections.abc import Callable

import pytest
from pyiceberg.catalog import load_catalog

from segplane.__main__ import main
from segplane.read import ReadError, open_dataset
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.server import MetaServer

Run = Callable[..., str]
COUNT = "| summarize n = count()"


@pytest.fixture
def run(
    meta_server: MetaServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Give a function that runs a command as its program does; returns what it printed."""
    monkeypatch.setenv("SEGPLANE_META_ADDRESS", meta_server.address)

    def call(*arguments: str, exit_code: int = 0) -> str:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["segplane", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == exit_code
        printed, complained = capsys.readouterr()
        return complained if exit_code else printed

    return call


def test_every_reader_knows_the_new_name_and_the_old_one_at_old_versions(
    meta_server: MetaServer, gateway: GatewayServer, segments: SegmentWriter, run: Run
) -> None:
    segments.write(rows=20)
    address = meta_server.address
    with open_dataset("web", meta_address=address) as opened:
        version = opened.version
    promoted = ("--promote", "status:int:record:status")
    run("datasets", "columns", "web", *promoted)

    assert run("datasets", "rename", "web", "shop") == "shop\n"
    assert json.loads(run("datasets", "list", "--json"))[-1]["name"] == "shop"

    segments.write(rows=10)
    with open_dataset("shop", meta_address=address) as opened:
        assert opened.to_table().num_rows == 30
    with open_dataset("web", as_of=version, meta_address=address) as opened:
        assert opened.to_table().num_rows == 20
    with pytest.raises(ReadError, match="now named 'shop'"):
        open_dataset("web", meta_address=address)
    assert gateway.query(f"shop {COUNT}").json == [{"n": 30}]
    asked = ("query", f"web {COUNT}", "--format", "csv", "--as-of", str(version))
    assert run(*asked).split() == ["n", "20"]
    catalog = load_catalog("segplane", type="rest", uri=gateway.uri)
    assert len(catalog.load_table("default.shop").scan().to_arrow()) == 30
    assert ("default", "web") not in catalog.list_tables("default")
    assert "shop" in run("datasets", "show", "web", exit_code=1)
