"""`python -m meta` with several processes on one port."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from meta.client import MetaClient
from meta.errors import Unavailable
from meta.v1.catalog_pb2 import CreateDatasetRequest

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


def children_of(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in listed.split()]


def wait_until_served(address: str, name: str) -> None:
    deadline = time.monotonic() + DEADLINE_SECS
    while True:
        try:
            with MetaClient(address) as client:
                client.catalog.CreateDataset(CreateDatasetRequest(name=name))
        except Unavailable:
            assert time.monotonic() < deadline
        else:
            return


def wait_until_ended(pid: int) -> None:
    deadline = time.monotonic() + DEADLINE_SECS
    while Path(f"/proc/{pid}").exists() and "Z" not in _state(pid):
        assert time.monotonic() < deadline
        threading.Event().wait(0.05)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_a_killed_process_is_replaced_and_all_end_with_the_parent(
    parent: "subprocess.Popen[str]", environment: dict[str, str]
) -> None:
    address = environment["META_BIND"]
    wait_until_served(address, "first")
    first, second = children_of(parent.pid)

    os.kill(first, signal.SIGKILL)
    wait_until_served(address, "second")
    deadline = time.monotonic() + DEADLINE_SECS
    while len(children_of(parent.pid)) < 2 or first in children_of(parent.pid):
        assert time.monotonic() < deadline
        threading.Event().wait(0.05)
    assert second in children_of(parent.pid)

    parent.terminate()
    assert parent.wait(DEADLINE_SECS) == 0


def test_children_end_when_their_parent_is_killed(
    parent: "subprocess.Popen[str]", environment: dict[str, str]
) -> None:
    wait_until_served(environment["META_BIND"], "first")
    children = children_of(parent.pid)

    parent.kill()

    for child in children:
        wait_until_ended(child)


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
