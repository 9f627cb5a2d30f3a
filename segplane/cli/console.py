"""Runs a stack in a terminal: reports events and stops it on Ctrl-C or SIGTERM."""

import os
import signal
import time
from collections.abc import Callable

from meta.process.shutdown import Shutdown
from segplane.stack.dev import Interrupted, Report, Stack

CHECK_EVERY_SECS = 1.0
EXIT_AT_ONCE = 130


def run_until_signal(
    make: Callable[[Report, Callable[[], bool]], Stack], banner: Callable[[Stack], str]
) -> None:
    """Run a stack until SIGINT, SIGTERM or SIGHUP; a second signal ends us at once.

    `make` receives the report function and a predicate that is true once a signal has arrived.
    """
    # The kernel signals the children (PR_SET_PDEATHSIG): they stop in no order.
    shutdown = Shutdown().install(
        (signal.SIGINT, signal.SIGTERM, signal.SIGHUP), lambda: os._exit(EXIT_AT_ONCE)
    )
    report = timed_report()
    try:
        with make(report, lambda: shutdown.is_requested) as stack:
            print(banner(stack), flush=True)
            while not shutdown.wait(CHECK_EVERY_SECS):
                stack.check()
    except Interrupted:
        pass
    report("stopped")


def timed_report() -> Report:
    """Return a function that prints a line with the seconds since now."""
    started = time.monotonic()

    def report(line: str) -> None:
        print(f"{time.monotonic() - started:7.1f}  {line}", flush=True)

    return report
