"""Signals that arrive at any moment, also while others are handled."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.meta.server import MetaServer
from tests.support.worker_process import WorkerProcess

# A signal may interrupt the main thread while it is in `set` or `wait` of the event.
_TARGET = """
import signal
from meta.process.shutdown import Shutdown
shutdown = Shutdown().install()
with shutdown._event._cond:
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGINT)
print(shutdown.wait())
"""
# Globals are destroyed after Python has given the signals back.
_LATE_SIGNAL = """
import os, signal
from meta.process.shutdown import Shutdown
class Late:
    def __del__(self, kill=os.kill, pid=os.getpid(), number=signal.SIGTERM):
        kill(pid, number)
late = Late()
Shutdown().install()
"""
_BURST = """
import os, signal, sys
for _ in range(200):
    os.kill(int(sys.argv[1]), signal.SIGTERM)
"""
DEADLINE_SECS = 30.0


def test_a_signal_that_comes_where_the_events_lock_is_held_ends_the_wait() -> None:
    target = [sys.executable, "-P", "-c", _TARGET]

    ended = subprocess.run(target, capture_output=True, text=True, timeout=DEADLINE_SECS)

    assert ended.stdout == "True\n"


def test_a_signal_to_a_process_that_has_finished_leaves_its_exit_code() -> None:
    target = [sys.executable, "-P", "-c", _LATE_SIGNAL]

    assert subprocess.run(target, timeout=DEADLINE_SECS, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "prefix", "started"),
    [
        ("meta", "META", "meta_started"),
        ("collector", "COLLECTOR", "listening"),
        ("nursery", "NURSERY", "nursery_started"),
        ("merge_worker", "MERGE_WORKER", "merge_worker_started"),
        ("janitor", "JANITOR", "janitor_started"),
        ("segplane.gateway", "GATEWAY", "gateway_started"),
    ],
)
@pytest.mark.parametrize("repetition", range(3))
def test_a_burst_of_signals_ends_every_process(
    meta_server: MetaServer,
    tmp_path: Path,
    module: str,
    prefix: str,
    started: str,
    repetition: int,
) -> None:
    settings = {
        "META_BIND": "127.0.0.1:0",
        "META_DATABASE_URL": meta_server.settings.database.url,
        "META_OBJECT_STORE_URL": (tmp_path / "objects").as_uri(),
        "COLLECTOR_ID": "collector",
        "COLLECTOR_GRPC_BIND": "127.0.0.1:0",
        "COLLECTOR_HTTP_BIND": "127.0.0.1:0",
        "GATEWAY_BIND": "127.0.0.1:0",
        "NURSERY_SPARK_MASTER": "processes[1]",
        "MERGE_WORKER_SPARK_MASTER": "processes[1]",
        f"{prefix}_META_ADDRESS": meta_server.address,
    }
    process = WorkerProcess(module, settings)
    try:
        process.wait_for(started)

        subprocess.run([sys.executable, "-P", "-c", _BURST, str(process.pid)], check=False)

        assert process.exit_code(DEADLINE_SECS) == 0
    finally:
        process.close()
