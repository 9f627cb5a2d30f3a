"""The compose files are what the model says, and every process accepts its settings in them."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from moto.server import ThreadedMotoServer

from meta.process.environment import Environment, settings_read
from meta.process.setting_names import COMMON, find_problems
from segplane.deploy.authority import Authority
from segplane.deploy.compose.__main__ import MAIN, TRIAL, files
from segplane.deploy.compose.services import drain_secs
from segplane.deploy.compose.settings import SECRETS
from segplane.deploy.processes import Process
from tests.support.wheels import PACKAGES

ROOT = Path(__file__).parents[2]
COMPOSE_CHECK = ROOT / "build" / "tools" / "compose-check"
SECRET = "thirty-two-characters-of-a-secret"
_REQUIRED = re.compile(r"\$\{(\w+):\?[^}]*\}")


def read_services(name: str) -> dict[str, Any]:
    """Read the services of a file, each required variable replaced by a secret."""
    read: dict[str, dict[str, Any]] = yaml.safe_load(
        _REQUIRED.sub(SECRET, (ROOT / name).read_text())
    )
    return read["services"]


@pytest.fixture(scope="module", params=[MAIN, TRIAL])
def services(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The services of one of the files."""
    return read_services(request.param)


@pytest.fixture
def s3_endpoint() -> Iterator[str]:
    """Run an S3 server."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def test_the_files_are_what_the_model_renders() -> None:
    assert {name: (ROOT / name).read_text() for name in files()} == dict(files())


@pytest.mark.parametrize("process", Process)
def test_each_process_accepts_its_settings(
    services: dict[str, Any], process: Process, tmp_path: Path
) -> None:
    service, package = services[process.label], process.package
    *_, folder, name = services["certificates"]["command"][:5]
    Authority(tmp_path).ready(name, ["localhost"])
    values = {k: v.replace(folder, str(tmp_path)) for k, v in service["environment"].items()}
    prefix = f"{package.rpartition('.')[2].upper()}_"

    load = import_module(f"{package}.config").load
    env = Environment(prefix, values)
    load(env)

    assert service["command"] == f"python -m {package}"
    known = settings_read(prefix, load)
    assert list(find_problems(env.values, [prefix], known)) == []
    # A password of Postgres is read by its client.
    others = ("AWS_", COMMON, "PGPASSWORD")
    assert all(name.startswith((prefix, *others)) for name in env.values)


def test_ports_are_published_on_loopback_only(services: dict[str, Any]) -> None:
    published = [port for service in services.values() for port in service.get("ports", [])]

    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def _published(service: Mapping[str, Any]) -> set[str]:
    return {port.rpartition(":")[0] for port in service.get("ports", [])}


def test_addresses_that_readers_are_handed_hold_inside_and_on_the_host(
    services: dict[str, Any],
) -> None:
    front, meta, gateway = (services[name] for name in ("front", "meta", "gateway"))
    location = urlsplit(meta["environment"]["SEGPLANE_OBJECT_STORE_URL"])
    (endpoint,) = parse_qs(location.query)["endpoint"]
    public = urlsplit(gateway["environment"]["GATEWAY_PUBLIC_URL"])

    # Readers get meta's address of the store, and the gateway's own.
    assert urlsplit(endpoint).netloc in _published(front)
    assert f"127.0.0.1:{public.port}" in _published(front)
    assert public.hostname == "localhost"
    # Inside, all are on the loopback of one namespace, whose service does nothing.
    modes = {services[name]["network_mode"] for name in ("store", "meta", "gateway")}
    assert (modes, front["command"]) == ({"service:front"}, "sleep infinity")
    for name in ("collector", "nursery", "merge-worker", "janitor"):
        url = services[name]["environment"]["SEGPLANE_OBJECT_STORE_URL"]
        assert url == meta["environment"]["SEGPLANE_OBJECT_STORE_URL"].replace("127.0.0.1", "front")


def test_secrets_are_required_except_in_the_file_of_trials() -> None:
    main, trial = (ROOT / MAIN).read_text(), (ROOT / TRIAL).read_text()

    assert set(_REQUIRED.findall(main)) == set(SECRETS)
    assert "only-for-trials" not in main
    assert _REQUIRED.findall(trial) == []
    # The token of the OpenTelemetry Collector exists once the others run.
    assert re.findall(r"\$\{(\w+):-", main + trial) == ["SEGPLANE_INGEST_TOKEN"] * 2


def test_each_process_has_a_health_check_a_limit_and_time_for_its_drain(
    services: dict[str, Any],
) -> None:
    for process in Process:
        service = services[process.label]
        assert service["healthcheck"]["test"][:4] == [
            "CMD",
            "python",
            "-m",
            "segplane.deploy.probe",
        ]
        assert service["mem_limit"]
        assert float(service["stop_grace_period"].removesuffix("s")) > drain_secs(process)


def test_every_mounted_file_is_there(services: dict[str, Any]) -> None:
    mounted = [
        volume.partition(":")[0]
        for service in services.values()
        for volume in service.get("volumes", [])
        if volume.startswith("./")
    ]

    assert len(mounted) >= 5
    assert [path for path in mounted if not (ROOT / path).exists()] == []


def test_the_bucket_is_made_once(
    services: dict[str, Any], s3_endpoint: str, tmp_path: Path
) -> None:
    python, flag, script = services["bucket"]["command"]
    script = script.replace("http://front:7070", s3_endpoint)
    credentials = services["bucket"]["environment"]

    for _ in range(2):
        made = subprocess.run(
            [sys.executable, flag, script], env=credentials, cwd=tmp_path, check=False
        )
        assert made.returncode == 0

    assert python == "python"


@pytest.mark.skipif(not COMPOSE_CHECK.exists(), reason="`make compose-check` builds the loader")
@pytest.mark.parametrize("name", [MAIN, TRIAL])
def test_the_loader_of_compose_accepts_a_file(name: str) -> None:
    secrets = dict.fromkeys(SECRETS, SECRET) if name == MAIN else {}

    def load(variables: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
        env = {"PATH": os.environ["PATH"], **variables}
        return subprocess.run(
            [COMPOSE_CHECK, ROOT / name], env=env, capture_output=True, text=True, check=False
        )

    loaded = load(secrets)
    assert loaded.returncode == 0, loaded.stderr
    assert set(loaded.stdout.split()) == set(read_services(name))
    for secret in secrets:
        refused = load({key: value for key, value in secrets.items() if key != secret})
        assert refused.returncode == 1
        assert SECRETS[secret] in refused.stderr


def test_the_image_holds_every_package() -> None:
    recipe = (ROOT / "Dockerfile").read_text()

    assert all(f"COPY {name} {name}\n" in recipe for name in (*PACKAGES, "distributions"))
    assert "--no-deps . ./distributions/server " in recipe


def test_the_store_is_the_version_that_tests_run_against() -> None:
    (module,) = re.findall(
        r"github\.com/versity/versitygw\S*@(\S+)", (ROOT / "Makefile").read_text()
    )

    assert f"versitygw@{module}\n" in (ROOT / "Dockerfile").read_text()


def test_the_image_installs_what_the_tests_run_with() -> None:
    # Version and hashes. Where a package is needed may differ: pandas, a reader in tests, needs
    # tzdata on every platform.
    blocks = {
        name: {
            re.sub(r" ;[^\\]*", " ", block).strip()
            for block in re.split(r"\n(?=\S)", (ROOT / "requirements" / name).read_text())
        }
        for name in ("all.lock", "dev.lock")
    }

    assert blocks["all.lock"] <= blocks["dev.lock"]
