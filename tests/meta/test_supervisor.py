"""`python -m meta` with several processes on one port."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import pytest

from meta.client import MetaClient
from meta.errors import Unavailable
from meta.v1.catalog_pb2 import CreateDatasetRequest
from tests.support.process_tree import children_of, is_alive
from tests.support.waiting import wait_until

DEADLINE_SECS = 60.0


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def environment(database_url: str, tmp_path: Path, port: int) -> dict[str, str]:
    return {
        **os.environ,
        "META_BIND": f"127.0.0.1:{port}",
        "META_DATABASE_URL": database_url,
        "META_OBJECT_STORE_URL": (tmp_path / "objects").as_uri(),
        "META_PROCESSES": "2",
        "META_THREADS": "4",
    }


@pytest.fixture
def parent(environment: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "meta"], env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
        if process.poll() is None:
            process.kill()


def wait_until_served(address: str, name: str) -> None:
    """Create a dataset of this name as soon as a meta answers."""

    def is_served() -> bool:
        try:
            with MetaClient(address) as client:
                client.catalog.CreateDataset(CreateDatasetRequest(name=name))
        except Unavailable:
            return False
        return True

    wait_until(is_served, "meta to answer", seconds=DEADLINE_SECS)


@pytest.mark.long
def test_a_killed_process_is_replaced_and_all_end_with_the_parent(
    parent: "subprocess.Popen[str]", environment: dict[str, str]
) -> None:
    address = environment["META_BIND"]
    wait_until_served(address, "first")
    first, second = children_of(parent.pid)

    os.kill(first, signal.SIGKILL)
    wait_until_served(address, "second")
    wait_until(
        lambda: len(children_of(parent.pid)) == 2 and first not in children_of(parent.pid),
        "another process in the place of the killed one",
    )
    assert second in children_of(parent.pid)

    parent.terminate()
    assert parent.wait(DEADLINE_SECS) == 0


@pytest.mark.long
def test_children_end_when_their_parent_is_killed(
    parent: "subprocess.Popen[str]", environment: dict[str, str]
) -> None:
    wait_until_served(environment["META_BIND"], "first")
    children = children_of(parent.pid)

    parent.kill()

    wait_until(lambda: not any(map(is_alive, children)), "the children to end")


@pytest.mark.long
def test_a_port_in_use_is_refused_in_one_line(environment: dict[str, str], port: int) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()

        ended = subprocess.run(
            [sys.executable, "-P", "-m", "meta"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECS,
        )

    assert ended.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}" in ended.stderr


@pytest.mark.long
def test_each_process_has_a_port_of_metrics_and_all_have_the_gauges_of_the_database(
    environment: dict[str, str],
) -> None:
    ports = _two_ports()
    several = {"META_METRICS_PORT": str(ports[0]), "META_DATASET_METRICS": "true"}
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "meta"], env={**environment, **several}
    ) as parent:
        wait_until_served(environment["META_BIND"], "first")
        shared = (
            'segplane_dataset_segments{dataset="other",tenant="default"} 0.0',
            "segplane_meta_expiring{",
        )

        def are_shown() -> bool:
            return all(text in _metrics(port) for port in ports for text in shared)

        wait_until(are_shown, "the gauges of both", seconds=DEADLINE_SECS)
        pages = [_metrics(port) for port in ports]
        parent.terminate()
        assert parent.wait(DEADLINE_SECS) == 0

    for page in pages:
        assert re.search(r"^process_resident_memory_bytes [1-9]", page, re.MULTILINE)
        assert "segplane_build_info{" in page
    create = 'started_total{grpc_method="meta.v1.CatalogService/CreateDataset"} '
    calls = [float(page.partition(create)[2].split()[0]) for page in pages]
    assert sum(calls) >= 1


def _metrics(port: int) -> str:
    with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as response:
        text: str = response.read().decode()
        return text
    return ""


def _two_ports() -> tuple[int, int]:
    """Find two free ports in a row."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            with suppress(OSError, OverflowError):
                second.bind(("127.0.0.1", port + 1))
                return port, port + 1
