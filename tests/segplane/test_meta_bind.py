"""The address on which `segplane dev --meta-only` and `segplane dev` let meta listen."""

import pytest
from click.testing import CliRunner

from dataplane.readiness import is_serving
from meta.process.exits import ConfigError
from segplane.__main__ import app
from segplane.stack.config import StackSettings, meta_endpoint
from segplane.stack.dev import Stack


@pytest.mark.parametrize(
    ("bind", "host", "port", "expected"),
    [
        ("", None, None, ("127.0.0.1", 9500)),
        ("0.0.0.0:9501", None, None, ("0.0.0.0", 9501)),
        ("[::1]:9501", None, None, ("[::1]", 9501)),
        ("0.0.0.0:9501", None, 0, ("0.0.0.0", 0)),
        ("0.0.0.0:9501", "127.0.0.1", None, ("127.0.0.1", 9501)),
        ("0.0.0.0:9501", "localhost", 9502, ("localhost", 9502)),
    ],
)
def test_options_precede_meta_bind_and_it_the_defaults(
    bind: str, host: str | None, port: int | None, expected: tuple[str, int]
) -> None:
    inherited = {"META_BIND": bind} if bind else {}

    assert meta_endpoint(inherited, host, port) == expected


@pytest.mark.parametrize("bind", ["9500", ":9500", "localhost", "localhost:http", "host:65536"])
def test_a_malformed_meta_bind_is_refused(bind: str) -> None:
    with pytest.raises(ConfigError, match="META_BIND is"):
        meta_endpoint({"META_BIND": bind}, None, None)


@pytest.mark.parametrize(
    ("host", "address"),
    [("0.0.0.0", "127.0.0.1:9500"), ("[::]", "[::1]:9500"), ("10.0.0.1", "10.0.0.1:9500")],
)
def test_clients_on_this_machine_reach_a_meta_on_all_addresses(
    settings: StackSettings, host: str, address: str
) -> None:
    everywhere = StackSettings(settings.data_dir, meta_host=host)

    assert everywhere.meta_address == address
    assert everywhere.meta_bind == f"{host}:9500"


@pytest.mark.parametrize("options", [(), ("--meta-only",)])
def test_dev_reads_meta_bind(settings: StackSettings, options: tuple[str, ...]) -> None:
    arguments = ("dev", *options, "--data-dir", str(settings.data_dir))

    done = CliRunner().invoke(app, arguments, env={"META_BIND": "nowhere"})

    assert done.exit_code == 2
    assert done.stderr.startswith("error: META_BIND is 'nowhere', not host:port")


@pytest.mark.long
def test_meta_listens_where_meta_bind_says(settings: StackSettings) -> None:
    host, port = meta_endpoint({"META_BIND": "127.0.0.2:0"}, None, None)
    elsewhere = StackSettings(
        settings.data_dir, meta_host=host, meta_port=port, inherited=settings.inherited
    )

    with Stack(elsewhere, print, parts=()) as stack:
        bound = stack.settings.meta_port
        assert stack.settings.meta_address == f"127.0.0.2:{bound}"
        assert is_serving(f"127.0.0.2:{bound}")
        assert not is_serving(f"127.0.0.1:{bound}")
