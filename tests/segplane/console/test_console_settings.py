"""Settings of the console: a start refuses what is not safe to serve."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from meta.process.environment import Environment
from meta.process.exits import ConfigError
from segplane.__main__ import app
from segplane.gateway import config
from segplane.gateway.config import Settings
from segplane.gateway.console.settings import ConsoleSettings
from segplane.stack import addresses, console
from segplane.stack.addresses import StackAddresses
from segplane.stack.config import StackSettings, environment_of
from segplane.stack.dev import GATEWAY, Stack
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.web_client import WebClient
from tests.support.meta.server import MetaServer

KEY = "k" * 32
ON = {"GATEWAY_CONSOLE": "true", "GATEWAY_CONSOLE_KEY": KEY}
PUBLIC = {"GATEWAY_PUBLIC_URL": "https://segplane.example.com"}
TOKEN = {"GATEWAY_AUTH_TOKEN": "t" * 32}
REACHED = {"GATEWAY_BIND": "0.0.0.0:9580", **TOKEN}


def load(values: dict[str, str]) -> Settings:
    return config.load(Environment("GATEWAY_", values))


def test_the_console_is_off_until_it_is_asked_for() -> None:
    assert not load({}).console.is_on
    assert not load({**PUBLIC, **REACHED}).console.is_on
    assert load(ON).console.is_on
    assert load({**ON, **PUBLIC, **REACHED}).console.is_on


def test_a_key_has_several_lines_of_which_none_is_short() -> None:
    assert load({**ON, "GATEWAY_CONSOLE_KEY": f" {KEY} \n\n{KEY}x\n"}).console.keys == (
        KEY,
        f"{KEY}x",
    )
    assert KEY not in repr(load(ON))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"GATEWAY_CONSOLE": "true"}, "needs GATEWAY_CONSOLE_KEY"),
        ({**ON, "GATEWAY_CONSOLE_KEY": "k" * 23}, "less than 24 characters"),
        ({**ON, "GATEWAY_CONSOLE_KEY": f"{KEY}\nshort"}, "less than 24 characters"),
        ({**ON, **REACHED}, "needs GATEWAY_PUBLIC_URL"),
        ({**ON, "GATEWAY_PUBLIC_URL": "http://a.example"}, "is not an https URL"),
        ({**ON, **PUBLIC, "GATEWAY_CONSOLE_CHANGES": "true"}, "excludes GATEWAY_PUBLIC_URL"),
        ({"GATEWAY_TRUSTED_PROXIES": "10.0.0.1/8"}, "has host bits set"),
        ({"GATEWAY_TRUSTED_PROXIES": "*"}, "GATEWAY_TRUSTED_PROXIES"),
    ],
)
def test_an_unsafe_console_is_refused(values: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        load(values)


def test_proxies_are_addresses_and_networks() -> None:
    assert load({}).trusted_proxies == ("127.0.0.1",)
    values = {"GATEWAY_TRUSTED_PROXIES": "10.0.0.0/8, 2001:db8::1"}
    assert load(values).trusted_proxies == ("10.0.0.0/8", "2001:db8::1")
    assert load({"GATEWAY_TRUSTED_PROXIES": ""}).trusted_proxies == ()


def test_production_asks_for_tls_a_public_url_and_authentication() -> None:
    credential = {"GATEWAY_META_AUTH_TOKEN": "m" * 32}
    production = {"SEGPLANE_PROFILE": "production", **credential, **ON}
    with pytest.raises(ConfigError) as refused:
        load(production)
    assert "has no TLS: set GATEWAY_PUBLIC_URL" in str(refused.value)
    assert "without authentication: set GATEWAY_AUTH_TOKEN" in str(refused.value)

    with pytest.raises(ConfigError, match="set GATEWAY_AUTH_TOKEN"):
        load({**production, **PUBLIC})
    assert load({**production, **PUBLIC, **TOKEN}).console.is_on


@pytest.fixture
def folder(meta_server: MetaServer, tmp_path: Path) -> Iterator[tuple[Path, GatewayServer]]:
    """Give a data folder whose gateway runs."""
    path = console.path_in(tmp_path)
    console.ready_key(path)
    settings = ConsoleSettings(True, (console.kept(path),))
    server = GatewayServer(meta_server.address, console=settings)
    gateway = f"127.0.0.1:{server.port}"
    addresses.write(tmp_path, StackAddresses(meta_server.address, "", gateway, gateway))
    yield tmp_path, server
    server.close()


def test_the_command_prints_an_address_that_opens_the_console_once(
    folder: tuple[Path, GatewayServer],
) -> None:
    data_dir, server = folder
    arguments = ["console", "--data-dir", str(data_dir), "--json"]
    shown = [json.loads(CliRunner().invoke(app, arguments).stdout)["address"] for _ in range(2)]

    prefix = f"http://127.0.0.1:{server.port}"
    assert all(address.startswith(prefix) for address in shown)
    paths = [address.removeprefix(prefix) for address in shown]
    assert [WebClient(server.port).get(path).status for path in paths * 2] == [303, 303, 403, 403]
    assert console.path_in(data_dir).stat().st_mode & 0o777 == 0o600


def test_the_command_says_where_no_console_runs(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["console", "--data-dir", str(tmp_path)])

    assert (done.exit_code, f"runs in {tmp_path}" in done.stderr) == (1, True)


@pytest.mark.long
def test_a_stack_serves_the_console_and_changes_only_when_started_so(
    settings: StackSettings,
) -> None:
    events: list[str] = []
    with Stack(settings, events.append, parts=(GATEWAY,)) as stack:
        gateway = stack.settings.gateway_bind
        address = console.address_of(gateway, stack.settings.console_key_path)
        browser = WebClient(stack.settings.gateway_port)

        assert browser.get(address.removeprefix(f"http://{gateway}")).location == "/ui/"
        assert browser.get("/ui/").status == 200
        local = addresses.read(stack.settings.data_dir)
        assert local is not None
        assert local.console == gateway
        logs = "".join(path.read_text() for path in stack.log_dir.glob("*.log"))
        assert address.partition("=")[2] not in logs

        for has_changes in (False, True):
            changed = replace(stack.settings, has_console_changes=has_changes)
            values = environment_of(changed, GATEWAY)
            loaded = config.load(Environment("GATEWAY_", values)).console
            assert (loaded.is_on, loaded.has_changes) == (True, has_changes)


def test_a_stack_leaves_the_console_out_where_it_is_turned_off(tmp_path: Path) -> None:
    console.ready_key(console.path_in(tmp_path))
    settings = StackSettings(tmp_path, inherited={"GATEWAY_CONSOLE": "false"})
    production = StackSettings(tmp_path, inherited={"SEGPLANE_PROFILE": "production"})
    public = StackSettings(tmp_path, inherited=PUBLIC)

    assert environment_of(settings, GATEWAY)["GATEWAY_CONSOLE"] == "false"
    assert environment_of(production, GATEWAY)["GATEWAY_CONSOLE"] == "false"
    assert environment_of(public, GATEWAY)["GATEWAY_CONSOLE"] == "true"
    taking = [each.takes_codes for each in (settings, production, public, StackSettings(tmp_path))]
    assert taking == [False, False, False, True]


def test_an_issuer_needs_the_address_to_which_it_sends_people_back() -> None:
    issuer = {"GATEWAY_OIDC_ISSUER": "https://login.example.com"}
    with pytest.raises(ConfigError, match="GATEWAY_OIDC_ISSUER needs GATEWAY_PUBLIC_URL"):
        load({**ON, **issuer})

    secret = {"GATEWAY_OIDC_CLIENT_SECRET": "hush"}
    loaded = load({**ON, **PUBLIC, **issuer, **secret}).console
    assert loaded.oidc.client_id == "segplane"
    assert "hush" not in repr(loaded)
