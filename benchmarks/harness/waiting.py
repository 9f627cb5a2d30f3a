"""Waits for a condition, with a deadline."""

import subprocess
import time
from collections.abc import Callable

from dataplane.readiness import is_serving
from meta.client.channel import ClientTls

START_SECS_MAX = 60.0


def wait_until(
    happened: Callable[[], bool],
    what: str,
    *,
    seconds: float,
    tick: Callable[[], object] = lambda: None,
    poll_secs: float = 0.05,
) -> None:
    """Poll for a state, with `tick` before each pause; raises TimeoutError after `seconds`."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        tick()
        time.sleep(poll_secs)


def wait_until_serving(
    process: "subprocess.Popen[bytes]", address: str, tls: ClientTls | None = None
) -> None:
    """Wait until a process serves gRPC; raises RuntimeError if it ended instead."""

    def check() -> None:
        if (code := process.poll()) is not None:
            raise RuntimeError(f"the server for {address} ended with code {code}")

    wait_until(
        lambda: is_serving(address, tls),
        f"a server at {address}",
        seconds=START_SECS_MAX,
        tick=check,
    )
