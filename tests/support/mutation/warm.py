"""Runs of pytest in forks of a process that has imported what tests need."""

import contextlib
import gc
import os
import select
import signal
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.support.mutation.shared_postgres import SharedPostgres
from tests.support.mutation.swap import Imported

# Collection and each test may take this and a multiple of the test's duration without a change.
PATIENCE_SECS = 25.0
PATIENCE_TIMES = 4.0
PATIENCE_SECS_MAX = 50.0


# The path of a module, its text and the text of its mutant, which is in its place.
Change = tuple[str, str, str]


@dataclass(frozen=True)
class Outcome:
    """The end of a run: killed, survived or timed out, and the test that ran last."""

    name: str
    by: str | None


class Forks:
    """Runs tests of a tree in forks of this process."""

    def __init__(self, tree: Path, postgres_url: str) -> None:
        self._tree = tree
        self._postgres_url = postgres_url
        os.environ |= {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "CI": "1"}
        sys.dont_write_bytecode = True
        for plugin in entry_points(group="pytest11"):
            plugin.load()
        # From here on, the modules of the tree are imported, not those beside this driver.
        sys.path.insert(0, str(tree))
        for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
            del sys.modules[name]
        conftests = sorted(path.relative_to(tree) for path in tree.glob("tests/**/conftest.py"))
        names = [".".join(path.with_suffix("").parts) for path in conftests]
        self._imported = Imported(tree, names)
        # pytest collects garbage at its end: what every fork shares need not be looked at.
        gc.freeze()

    def run(self, tests: Mapping[str, float], change: Change | None) -> Outcome:
        """Run tests, each with its usual seconds, up to the first that fails."""
        reader, writer = os.pipe()
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            pid = os.fork()
            if pid == 0:
                os.close(reader)
                self._become_pytest(list(tests), change, writer, folder)
            os.close(writer)
            try:
                return _watch(reader, tests)
            finally:
                os.close(reader)
                # Servers of its tests are in the group too.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def _become_pytest(
        self, tests: list[str], change: Change | None, writer: int, folder: str
    ) -> None:
        try:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nothing, descriptor)
            os.chdir(self._tree)
            if change and not self._imported.swap(*change):
                self._imported.forget()
            options = ["-x", "-q", "-p", "no:cacheprovider", f"--basetemp={folder}/tmp"]
            plugins = [SharedPostgres(self._postgres_url), _Progress(writer)]
            pytest.main([*options, *tests], plugins=plugins)
        finally:
            os._exit(1)


class _Progress:
    """pytest plugin: says which test starts, which has failed, and how the run ends."""

    def __init__(self, writer: int) -> None:
        self._writer = writer

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        os.write(self._writer, f"+{nodeid}\n".encode())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self._writer, f"!{report.nodeid}\n".encode())

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        os.write(self._writer, f"={int(exitstatus)}\n".encode())


def _watch(reader: int, tests: Mapping[str, float]) -> Outcome:
    """Follow a fork to its end, or to the test that takes too long."""
    secs, test, is_failed = 0.0, None, False
    lines = b""
    while True:
        patience = min(PATIENCE_SECS + PATIENCE_TIMES * secs, PATIENCE_SECS_MAX)
        if not select.select([reader], [], [], patience)[0]:
            return Outcome("killed" if is_failed else "timed out", test)
        chunk = os.read(reader, 1 << 16)
        if not chunk:
            return Outcome("killed", test)
        *complete, lines = (lines + chunk).split(b"\n")
        for line in complete:
            kind, text = line[:1], line[1:].decode()
            if kind == b"=":
                return Outcome("survived" if text == "0" else "killed", test)
            test, is_failed = text, is_failed or kind == b"!"
            secs = tests.get(text, 0.0)
