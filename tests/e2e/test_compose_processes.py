"""The processes of the compose file run with its environment, commands and probes, without Docker.

Hosts, ports and folders of containers are replaced by those of this machine; nothing else is.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from segplane.deploy.compose.__main__ import TRIAL
from segplane.deploy.compose.addresses import STORE_PORT
from segplane.deploy.model import PARTS
from segplane.deploy.processes import Process
from segplane.stack.preflight import claim_ports
from tests.support.object_store.versitygw import running_versitygw
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
START_SECS = 120.0
RECORDS = 20

Localized = Callable[[str], str]


def localized(store_url: str, database_url: str, folder: Path) -> Localized:
    """Give a function that replaces what only the containers have."""
    numbers = [str(port.number) for part in PARTS.values() for port in part.ports]
    ports = claim_ports(dict.fromkeys(numbers, 0))
    store = urlsplit(store_url).netloc

    def replace(value: str) -> str:
        value = value.replace("postgresql://segplane@postgres/segplane", database_url)
        value = value.replace("/certificates", str(folder)).replace("0.0.0.0", "127.0.0.1")
        value = re.sub(rf"(front|127\.0\.0\.1):{STORE_PORT}", store, value).replace(
            "front:", "127.0.0.1:"
        )
        pattern = rf"(^|:)({'|'.join(numbers)})(?=$|/)"
        return re.sub(pattern, lambda found: f"{found[1]}{ports[found[2]]}", value)

    return replace


def run(command: list[str], environment: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run a command of a container to its end."""
    program, *arguments = command
    assert program == "python"
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        [sys.executable, *arguments], env=env, capture_output=True, text=True, check=False
    )


class Container:
    """A process of the file, until it is asked to end."""

    def __init__(self, service: Mapping[str, Any], localize: Localized, log: Path) -> None:
        self.environment = {k: localize(str(v)) for k, v in service["environment"].items()}
        self._probe = [localize(each) for each in service["healthcheck"]["test"][1:]]
        self._grace_secs = float(service["stop_grace_period"].removesuffix("s"))
        program, *arguments = service["command"].split()
        assert program == "python"
        inherited = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, *arguments],
                env={
                    **inherited,
                    "PYTHONPATH": str(ROOT),
                    "HOME": str(log.parent),
                    **self.environment,
                },
                stdout=output,
                stderr=output,
                cwd=log.parent,
            )

    def is_healthy(self) -> bool:
        """Ask as an engine does."""
        assert self._process.poll() is None, self.log.read_text()[-2_000:]
        return run(self._probe, {}).returncode == 0

    def stop(self) -> int:
        """End it as an engine does, within its time."""
        self._process.terminate()
        return self._process.wait(self._grace_secs)

    def kill(self) -> None:
        """End it in any case."""
        self._process.kill()
        self._process.wait()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_record_goes_through_the_processes_of_the_compose_file(
    tmp_path: Path, database_url: str
) -> None:
    services = yaml.safe_load((ROOT / TRIAL).read_text())["services"]
    credentials = services["store"]["environment"]
    root = credentials["ROOT_ACCESS_KEY"], credentials["ROOT_SECRET_KEY"]
    with ExitStack() as stack:
        store_url = stack.enter_context(running_versitygw(tmp_path, root=root))
        localize = localized(store_url, database_url, tmp_path / "certificates")
        for name in ("bucket", "certificates"):
            command = [localize(each) for each in services[name]["command"]]
            made = run(command, services[name].get("environment", {}))
            assert made.returncode == 0, made.stderr
        containers: dict[Process, Container] = {}
        # In the order in which compose starts them: the others wait for a healthy meta.
        for process in Process:
            log = tmp_path / f"{process.label}.log"
            container = Container(services[process.label], localize, log)
            stack.callback(container.kill)
            containers[process] = container
            if process is Process.META:
                wait_until(container.is_healthy, "meta to be healthy", seconds=START_SECS)
        for process, container in containers.items():
            wait_until(container.is_healthy, f"{process.label} to be healthy", seconds=START_SECS)

        inside = containers[Process.META].environment
        segplane = ["python", "-m", "segplane"]
        created = run(
            [*segplane, "tokens", "create", "first", "--dataset", "default", "--json"], inside
        )
        assert created.returncode == 0, created.stderr
        sender = {**inside, "SEGPLANE_INGEST_TOKEN": json.loads(created.stdout)["plaintext_token"]}
        endpoint = localize("http://127.0.0.1:4318")
        sent = run(
            [*segplane, "test-send", "--count", str(RECORDS), "--endpoint", endpoint], sender
        )
        assert sent.returncode == 0, sent.stdout + sent.stderr
        # Those that depend on others end first, as in compose.
        endings = {each: container.stop() for each, container in reversed(containers.items())}

    assert endings == dict.fromkeys(Process, 0)
