"""Several collectors on the same ports, one process each: the kernel shares out connections.

The parent only starts, restarts and stops them. A child watches its stdin, a pipe from the parent,
so that it ends in good order even if the parent is killed.
"""

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from socket import AF_INET, AF_INET6, SO_REUSEADDR, SOL_SOCKET, socket

import structlog

from collector.config import Settings, child_environment, split_bind
from meta.process import CONFIG_EXIT_CODE, ConfigError, Shutdown

log = structlog.get_logger()

POLL_SECS = 0.2
RESTART_AFTER_SECS = 1.0


def run_processes(settings: Settings) -> int:
    """Run the children until a signal or a wrong setting; returns the exit code."""
    for bind in (settings.grpc_bind, settings.http_bind):
        _require_free(bind)
    shutdown = Shutdown().install()
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


def _start(index: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "collector"],
        env=child_environment(index),
        stdin=subprocess.PIPE,
    )


def _stop(children: Sequence["subprocess.Popen[bytes]"]) -> list[int]:
    """Let every child commit what it has; they bound the time themselves."""
    for child in children:
        with suppress(ProcessLookupError):
            child.terminate()
    return [abs(child.wait()) for child in children]


def _require_free(bind: str) -> None:
    """Refuse a port that someone else has: the children open it in a way that would share it."""
    host, port = split_bind(bind)
    if port == 0:
        raise ConfigError(f"{bind}: with COLLECTOR_PROCESSES a port must be named")
    with socket(AF_INET6 if ":" in host else AF_INET) as probe:
        probe.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ConfigError(f"{bind} cannot be opened (in use?): {error.strerror}") from error
