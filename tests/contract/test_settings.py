"""docs/settings.md lists every setting that a process reads, with its default."""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from click.testing import CliRunner

from meta.process.environment import Environment, load_settings
from meta.process.setting_names import COMMON, COMMON_ONLY, REMOVED, RENAMED, SHARED
from segplane.__main__ import app
from segplane.deploy.processes import Process
from tests.support.commands import every_command

DOCS = Path(__file__).parents[2] / "docs" / "settings.md"
ROW = re.compile(r"^\| `([A-Z_]+)`(?:, `<PROCESS>_([A-Z_]+)`)? \| (.*?) \| .+ \|$", re.MULTILINE)
# A new setting needs a reason why a constant will not do.
ROWS_MAX = 152
# Defaults that depend on the process or on the place where it runs; the table has words for them.
COMPUTED = {
    "SEGPLANE_DRAIN_SECS",
    "SEGPLANE_OBJECT_STORE_URL",
    "MERGE_WORKER_WORKER_ID",
    "MERGE_WORKER_WORK_DIR",
}
# Set by a parent process for its children, never by an operator.
INTERNAL = {"COLLECTOR_PROCESS_INDEX"}


def _settings() -> Iterator[tuple[str, str]]:
    """Names and defaults of the settings that processes read, as the page names them."""
    for process in Process:
        for name, reading in process.settings().items():
            yield name, reading.default


@pytest.fixture(scope="module")
def documented() -> dict[str, str]:
    """The rows of the table: name to default."""
    return {name: default.strip("`") for name, _, default in ROW.findall(DOCS.read_text())}


def test_every_setting_is_documented_and_nothing_else(documented: dict[str, str]) -> None:
    common = {COMMON + name for name in COMMON_ONLY}

    assert set(documented) == {name for name, _ in _settings()} - INTERNAL | common
    assert len(documented) <= ROWS_MAX


def test_every_variable_of_a_command_is_documented(documented: dict[str, str]) -> None:
    variables = {name for command in every_command().values() for name in _variables(command)}

    assert "SEGPLANE_GATEWAY_ADDRESS" in variables
    own = {own for _, own, _ in ROW.findall(DOCS.read_text()) if own}
    assert {v for v in variables if v.partition("_")[2] not in own} <= set(documented)


def _variables(command: Any) -> Iterator[str]:
    for parameter in command.params:
        names = parameter.envvar or ()
        yield from [names] if isinstance(names, str) else names


def test_the_rows_of_shared_settings_have_both_names() -> None:
    both = {name: own for name, own, _ in ROW.findall(DOCS.read_text()) if own}

    assert both == {COMMON + name: name for name in SHARED}


def test_the_documented_defaults_are_the_real_ones(documented: dict[str, str]) -> None:
    real = {n: d for n, d in _settings() if n not in COMPUTED | INTERNAL}

    assert {name: documented[name] for name in real} == {
        name: _shown(default) for name, default in real.items()
    }


def _shown(default: str) -> str:
    assert socket.gethostname() not in default
    return default or "-"


def test_names_that_changed_are_not_names_of_today(documented: dict[str, str]) -> None:
    assert {*REMOVED, *RENAMED.values()}.isdisjoint(documented)


@pytest.mark.parametrize(
    ("values", "value"),
    [
        ({}, "127.0.0.1:9500"),
        ({"SEGPLANE_META_ADDRESS": "all:1"}, "all:1"),
        ({"SEGPLANE_META_ADDRESS": "all:1", "NURSERY_META_ADDRESS": "own:1"}, "own:1"),
        ({"SEGPLANE_META_ADDRESS": "all:1", "NURSERY_META_ADDRESS_FILE": "FILE"}, "in a file:1"),
    ],
)
def test_the_own_name_wins(values: dict[str, str], value: str, tmp_path: Path) -> None:
    (tmp_path / "address").write_text("in a file:1\n")
    values = {name: v.replace("FILE", str(tmp_path / "address")) for name, v in values.items()}

    assert Environment("NURSERY_", values).text("META_ADDRESS", "127.0.0.1:9500") == value


def test_a_start_names_what_it_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from collector import config

    monkeypatch.setenv("COLLECTOR_SHUTDOWN_TIMEOUT_SECS", "7")
    monkeypatch.setenv("COLLECTOR_BUFFER_SIZE_MAX_FILE", "/nowhere")
    monkeypatch.setenv("SEGPLANE_META_ADRESS", "meta:9500")
    # Names that others use.
    monkeypatch.setenv("SEGPLANE_CREDENTIALS_LOGS", "/nowhere")
    monkeypatch.setenv("COLLECTOR_PORT_4317_TCP_ADDR", "10.0.0.1")
    monkeypatch.setenv("COLLECTOR_PORT", "tcp://10.0.0.1:4317")
    monkeypatch.setenv("JANITOR_NOTHING", "1")

    with structlog.testing.capture_logs() as logs:
        settings = load_settings("COLLECTOR_", config.load)

    assert settings.drain_secs == 7
    assert [(log["event"], log["setting"], log["instead"]) for log in logs] == [
        ("setting_unknown", "COLLECTOR_BUFFER_SIZE_MAX_FILE", "COLLECTOR_BUFFER_SIZE_BYTES_MAX"),
        ("setting_renamed", "COLLECTOR_SHUTDOWN_TIMEOUT_SECS", "COLLECTOR_DRAIN_SECS"),
        ("setting_unknown", "SEGPLANE_META_ADRESS", "SEGPLANE_META_ADDRESS"),
    ]


def test_config_show_has_sources_and_no_secrets(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("segp_secret")
    environment = {
        "SEGPLANE_META_AUTH_TOKEN_FILE": str(token),
        "NURSERY_WAIT_SECS": "5",
        "NURSERY_SPARK_CONF": "spark.hadoop.fs.s3a.secret.key=hush,spark.ui.enabled=true",
        "NURSERY_WAITS": "5",
    }

    shown = CliRunner().invoke(app, ["config", "show", "nursery"], env=environment)

    assert shown.exit_code == 0, shown.output
    rows = [line.split(maxsplit=2) for line in shown.stdout.splitlines()]
    file = f"file {token} (SEGPLANE_META_AUTH_TOKEN_FILE)"
    assert ["NURSERY_META_AUTH_TOKEN", "***", file] in rows
    assert ["NURSERY_WAIT_SECS", "5", "NURSERY_WAIT_SECS"] in rows
    assert ["NURSERY_INTERVAL_SECS", "1", "default"] in rows
    assert "spark.hadoop.fs.s3a.secret.key=***,spark.ui.enabled=true" in shown.stdout
    assert "hush" not in shown.stdout
    assert "NURSERY_WAITS is not a setting: did you mean NURSERY_WAIT_SECS?" in shown.stderr


def test_config_show_shows_no_password_of_a_url_and_every_refusal() -> None:
    environment = {"META_DATABASE_URL": "postgresql://me:p@ss@h/n?password=hush&sslmode=require"}

    shown = CliRunner().invoke(app, ["config", "show", "meta"], env=environment)
    refused = CliRunner().invoke(app, ["config", "show"], env={"JANITOR_METRICS_PORT": "no"})

    assert "postgresql://me:***@h/n?password=***&sslmode=require" in shown.stdout
    assert refused.exit_code == 2
    assert "META_DATABASE_URL is not set" in refused.stderr
    assert "JANITOR_METRICS_PORT is 'no'" in refused.stderr
    assert "NURSERY_WAIT_SECS" in refused.stdout
    assert "META_THREADS" in refused.stdout, "read after the refused setting"


def test_config_show_has_settings_of_commands_and_refusals_as_json() -> None:
    environment = {
        "SEGPLANE_DATA_DIR": "/data",
        "SEGPLANE_INGEST_TOKEN": "segp_hush",
        "SEGPLANE_GATEWAY_ADDRESS": "gateway:1",
    }

    refused = CliRunner().invoke(app, ["config", "show", "--json"], env=environment)

    document = json.loads(refused.stdout)
    rows = {row["setting"]: row["value"] for row in document["settings"]}
    assert refused.exit_code == 2
    (refusal,) = document["refusals"]
    assert refusal.startswith("META_DATABASE_URL is not set")
    assert rows["META_DATABASE_URL"] == ""
    assert rows["SEGPLANE_DATA_DIR"] == "/data"
    assert rows["SEGPLANE_INGEST_TOKEN"] == "***"
    assert rows["SEGPLANE_GATEWAY_ADDRESS"] == "gateway:1"
    assert document["problems"] == []
