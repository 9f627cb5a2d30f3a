"""Readiness of meta as the processes check it."""

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataplane.location import Locator
from dataplane.readiness import MetaReadiness
from meta.client import MetaClient
from segplane.stack.preflight import claim_ports
from tests.support.meta.process import meta_process
from tests.support.waiting import wait_until

# Five seconds to notice, less the two between checks.
CHECK_SECS = 3.0


@pytest.fixture
def address() -> str:
    return f"127.0.0.1:{claim_ports({'meta': 0})['meta']}"


@pytest.fixture
def meta(address: str, database_url: str, tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with meta_process(address, database_url, tmp_path / "objects") as process:
        yield process


@pytest.mark.long
def test_a_meta_that_hangs_is_noticed_and_so_is_its_return(
    address: str, meta: "subprocess.Popen[bytes]"
) -> None:
    with MetaClient(address) as client:
        readiness = MetaReadiness(client, Locator(client, "test"))
        wait_until(readiness.check, "meta is ready", seconds=60)

        meta.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        assert not readiness.check()
        took_secs = time.monotonic() - began
        meta.send_signal(signal.SIGCONT)

        assert took_secs < CHECK_SECS
        wait_until(readiness.check, "meta is ready again", seconds=10)


@pytest.mark.long
def test_a_meta_that_hangs_after_its_health_answered_is_noticed_as_soon(
    address: str, meta: "subprocess.Popen[bytes]"
) -> None:
    def healthy_for_the_last_time() -> bool:
        meta.send_signal(signal.SIGSTOP)
        return True

    with MetaClient(address) as client:
        wait_until(MetaReadiness(client, Locator(client, "test")).check, "meta is ready")
        readiness = MetaReadiness(client, Locator(client, "test"), healthy_for_the_last_time)

        began = time.monotonic()
        assert not readiness.check()

        assert time.monotonic() - began < CHECK_SECS
