"""segplane iceberg info: what to paste into each engine."""

import json
from collections import defaultdict
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from segments.location import StoreLocation
from segplane.__main__ import app
from segplane.cli.commands.run.running import DEV_BANNER
from segplane.cli.iceberg_settings import ENGINES, CatalogAddress, settings_of
from segplane.stack import addresses
from segplane.stack.addresses import StackAddresses
from tests.support.command_line import RunCommand
from tests.support.meta.server import MetaServer

BUCKET = StoreLocation.from_url("s3://bucket/path?endpoint=http://minio:9000&region=eu-1")


def test_every_engine_has_settings_with_the_gateways_address(run: RunCommand) -> None:
    shown = run("iceberg", "info", "127.0.0.1:7777")
    parsed = json.loads(run("iceberg", "info", "https://lake.example", "--json").stdout)

    assert shown.exit_code == 0
    assert all(f"== {engine}\n" in shown.stdout for engine in ENGINES)
    assert shown.stdout.count("http://127.0.0.1:7777/iceberg") == len(ENGINES) + 1
    assert parsed["uri"] == "https://lake.example/iceberg"
    assert set(parsed["engines"]) == set(ENGINES)


def test_an_unknown_engine_is_refused(run: RunCommand) -> None:
    refused = run("iceberg", "info", "--engine", "excel")

    assert refused.exit_code == 2
    assert "engine is 'excel', not one of pyiceberg" in refused.stderr


@pytest.mark.parametrize("engine", ENGINES)
def test_credentials_are_the_callers_own(engine: str) -> None:
    text = settings_of(engine, CatalogAddress("http://gateway/iceberg", BUCKET, has_token=True))

    assert "<access key>" in text
    assert "<GATEWAY_AUTH_TOKEN>" in text


def test_pyicebergs_settings_are_its_configuration_file() -> None:
    text = settings_of("pyiceberg", CatalogAddress("http://gateway/iceberg", BUCKET, True))

    assert yaml.safe_load(text)["catalog"]["segplane"] == {
        "type": "rest",
        "uri": "http://gateway/iceberg",
        "token": "<GATEWAY_AUTH_TOKEN>",
        "s3.access-key-id": "<access key>",
        "s3.secret-access-key": "<secret key>",
    }


def test_sparks_settings_let_it_find_views() -> None:
    text = settings_of("spark", CatalogAddress("http://gateway/iceberg", BUCKET, True))

    assert "spark.sql.extensions=org.apache.iceberg.spark.extensions.Iceberg" in text


def test_dev_prints_a_command_that_finds_a_meta_on_another_port(
    run: RunCommand, meta_server: MetaServer, tmp_path: Path
) -> None:
    assert run("datasets", "list").exit_code == 0
    port = meta_server.address.rpartition(":")[2]
    meta = f"127.0.0.1:{port}"
    addresses.write(tmp_path, StackAddresses(meta, gateway="127.0.0.1:9581"))
    hints = {"hint": f" --meta-address {meta}", "folder_hint": f" --data-dir {tmp_path}"}
    banner = DEV_BANNER.format_map(defaultdict(str, hints))
    (line,) = [line for line in banner.splitlines() if "segplane iceberg info" in line]
    arguments = [*line.partition("segplane ")[2].split(), "--engine", "duckdb"]

    shown = CliRunner().invoke(app, arguments, env={"SEGPLANE_META_ADDRESS": "127.0.0.1:1"})

    assert shown.exit_code == 0, shown.output
    assert "http://127.0.0.1:9581/iceberg" in shown.stdout


def test_the_stack_of_another_meta_gives_no_address(run: RunCommand, tmp_path: Path) -> None:
    addresses.write(tmp_path, StackAddresses("127.0.0.1:1", gateway="127.0.0.1:9581"))

    shown = run("iceberg", "info", "--engine", "duckdb", "--data-dir", str(tmp_path))

    assert "http://127.0.0.1:9580/iceberg" in shown.stdout
