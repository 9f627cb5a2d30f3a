"""Readiness of meta as the processes check it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from meta.client import MetaClient
from segplane.dataplane.location import Locator
from segplane.dataplane.readiness import MetaReadiness
from segplane.preflight import claim_ports
from tests.support.waiting import wait_until

# Five seconds to notice, less the two between checks.
CHECK_SECS = 3.0


@pytest.fixture
def address() -> str:
    return f"127.0.0.1:{claim_ports({'meta': 0})['meta']}"


@pytest.fixture
def meta_process(
    address: str, database_url: str, tmp_path: Path
) -> Iterator["subprocess.Popen[bytes]"]:
    environment = {
        **os.environ,
        "META_BIND": address,
        "META_DATABASE_URL": database_url,
        "META_OBJECT_STORE_URL": (tmp_path / "objects").as_uri(),
        "META_THREADS": "4",
    }
    with subprocess.Popen([sys.executable, "-P", "-m", "meta"], env=environment) as process:
        yield process
        process.kill()


def test_a_meta_that_hangs_is_noticed_and_so_is_its_return(
    address: str, meta_process: "subprocess.Popen[bytes]"
) -> None:
    with MetaClient(address) as client:
        readiness = MetaReadiness(address, Locator(client, "test"))
        wait_until(readiness.check, "meta is ready", seconds=60)

        meta_process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        assert not readiness.check()
        took_secs = time.monotonic() - began
        meta_process.send_signal(signal.SIGCONT)

        assert took_secs < CHECK_SECS
        wait_until(readiness.check, "meta is ready again", seconds=10)
