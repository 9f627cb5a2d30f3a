"""docker-compose.yml starts every process with settings that the process accepts."""

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from moto.server import ThreadedMotoServer

from meta.process.environment import Environment, settings_read
from meta.process.setting_names import COMMON, find_problems
from tests.support.wheels import PACKAGES

ROOT = Path(__file__).parents[2]
PROCESSES = {
    "meta": "meta",
    "collector": "collector",
    "nursery": "nursery",
    "merge-worker": "merge_worker",
    "janitor": "janitor",
}


@pytest.fixture(scope="session")
def services() -> dict[str, Any]:
    """Read the services, each `${NAME:-default}` replaced by its default."""
    text = (ROOT / "docker-compose.yml").read_text()
    filled = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)
    found: dict[str, Any] = yaml.safe_load(filled)["services"]
    return found


@pytest.fixture
def s3_endpoint() -> Iterator[str]:
    """Run an S3 server."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.mark.parametrize(("service", "package"), PROCESSES.items(), ids=list(PROCESSES))
def test_each_process_accepts_its_settings(
    services: dict[str, Any], service: str, package: str
) -> None:
    process = services[service]
    prefix = f"{package.upper()}_"

    load = import_module(f"{package}.config").load
    env = Environment(prefix, process["environment"])
    load(env)

    assert process["command"] == f"python -m {package}"
    known = settings_read(prefix, load)
    assert list(find_problems(env.values, [prefix], known)) == []
    assert all(name.startswith((prefix, "AWS_", COMMON)) for name in env.values)


def test_ports_are_published_on_loopback_only(services: dict[str, Any]) -> None:
    published = [port for service in services.values() for port in service.get("ports", [])]

    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_the_bucket_is_made_once(
    services: dict[str, Any], s3_endpoint: str, tmp_path: Path
) -> None:
    python, flag, script = services["bucket"]["command"]
    script = script.replace("http://store:8333", s3_endpoint)
    credentials = services["bucket"]["environment"]

    for _ in range(2):
        made = subprocess.run(
            [sys.executable, flag, script], env=credentials, cwd=tmp_path, check=False
        )
        assert made.returncode == 0

    assert python == "python"


def test_the_image_holds_every_package() -> None:
    recipe = (ROOT / "Dockerfile").read_text()

    assert all(f"COPY {name} {name}\n" in recipe for name in (*PACKAGES, "distributions"))
    assert "--no-deps . ./distributions/server " in recipe


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
