"""Several servers on one port, one process each: the kernel shares out connections.

The parent only starts, restarts and stops them. A child watches its stdin, a pipe from the parent,
so that it drains even if the parent is killed.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from socket import AF_INET, AF_INET6, SO_REUSEADDR, SOL_SOCKET, socket

import structlog

from meta.config import Settings
from meta.process import CONFIG_EXIT_CODE, ConfigError, Shutdown

log = structlog.get_logger()
CHILD_FLAG = "--child"
POLL_SECS = 0.2
_STDIN = 0
RESTART_AFTER_SECS = 1.0


def run(settings: Settings, shutdown: Shutdown) -> int:
    """Run the children until shutdown or a wrong setting; returns the exit code."""
    _require_free(settings.bind)
    children = [_start(index) for index in range(settings.processes)]
    try:
        while not shutdown.wait(POLL_SECS):
            for index, child in enumerate(children):
                if child.poll() is None:
                    continue
                if child.returncode == CONFIG_EXIT_CODE:
                    return CONFIG_EXIT_CODE  # It has said why.
                log.error("process_ended", index=index, exit_code=child.returncode)
                shutdown.wait(RESTART_AFTER_SECS)
                children[index] = _start(index)
    finally:
        codes = _stop(children)
    return max(codes)


def child_index(arguments: Sequence[str]) -> int | None:
    """Which child this process is; None for one that was started by itself."""
    if len(arguments) == 2 and arguments[0] == CHILD_FLAG:
        return int(arguments[1])
    return None


def child_settings(settings: Settings, index: int) -> Settings:
    """A child's own settings: a metrics port for each."""
    return replace(settings, metrics=settings.metrics.of_child(index))


def watch_parent(shutdown: Shutdown) -> None:
    """Request shutdown once the parent has closed our stdin, as its death does."""

    def wait() -> None:
        # Not sys.stdin: at exit Python aborts over a buffer that a daemon thread holds.
        while os.read(_STDIN, 1):
            pass
        shutdown.request()

    threading.Thread(target=wait, daemon=True).start()


def _start(index: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "meta", CHILD_FLAG, str(index)], stdin=subprocess.PIPE
    )


def _stop(children: Sequence["subprocess.Popen[bytes]"]) -> list[int]:
    """Let every child drain; they bound the time themselves."""
    for child in children:
        with suppress(ProcessLookupError):
            child.terminate()
    codes = [child.wait() for child in children]
    # One that was still starting has not taken the signal over yet, and had nothing to drain.
    return [0 if code == -signal.SIGTERM else abs(code) for code in codes]


def _require_free(bind: str) -> None:
    """Refuse a port that someone else has: the children open it in a way that would share it."""
    host, _, port = bind.rpartition(":")
    if port == "0":
        raise ConfigError(f"META_BIND {bind}: with META_PROCESSES a port must be named")
    with socket(AF_INET6 if ":" in host else AF_INET) as probe:
        probe.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), int(port)))
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {bind}: is another meta running? choose META_BIND"
            ) from error
