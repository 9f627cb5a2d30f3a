"""The prompt of `segplane query` on a terminal: completion, carets, interrupts, history."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from segplane.query.shell import HISTORY_LINES_MAX
from tests.segplane.query.conftest import QueryDriver
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.schemas import link_view

DEADLINE_SECS = 60.0
SIGNAL_SECS = 2.0
PROMPT = "segplane> "
HISTORY = ".local/state/segplane/query_history"


class Terminal:
    """A command on its own terminal; each wait has a deadline."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        self._shown = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "segplane", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            start_new_session=True,
            # A shell starts what it runs in the background with this signal ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        os.close(theirs)

    def type(self, text: str) -> None:
        """Send keys."""
        os.write(self._ours, text.encode())

    def interrupt_line(self) -> None:
        """Press Ctrl-C in a line until the prompt is shown anew.

        Python's readline misses a signal that comes after a key, and before it waits for the next.
        """
        deadline = time.monotonic() + DEADLINE_SECS
        while True:
            self.process.send_signal(signal.SIGINT)
            try:
                self.shown_until(PROMPT, SIGNAL_SECS)
                return
            except AssertionError:
                assert time.monotonic() < deadline, "the line is not given up"

    def shown_until(self, text: str, seconds: float = DEADLINE_SECS) -> str:
        """Return what is shown from now until a text, which it ends with."""
        deadline, sought = time.monotonic() + seconds, text.encode()
        while sought not in self._shown:
            left = deadline - time.monotonic()
            assert left > 0, f"no {text!r} in {self._shown.decode(errors='replace')!r}"
            readable, _, _ = select.select([self._ours], [], [], left)
            if readable:
                self._shown += os.read(self._ours, 65_536)
        # What came behind it is for the next call.
        before, found, self._shown = self._shown.partition(sought)
        return (before + found).decode(errors="replace").replace("\r\n", "\n")

    def close(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.wait(DEADLINE_SECS)
        os.close(self._ours)


@pytest.fixture
def terminal(segments: SegmentWriter, queries: QueryDriver, tmp_path: Path) -> Iterator[Terminal]:
    """A prompt over a dataset and a view, with its own home."""
    segments.write(rows=30)
    link_view(queries.client, segments.dataset, "failures", "project what = body")
    # No sequences for the terminal's paste mode between the answers.
    (tmp_path / ".inputrc").write_text("set enable-bracketed-paste off\n")
    history = tmp_path / HISTORY
    history.parent.mkdir(parents=True)
    history.write_text("print remembered = 6 * 7;\n")
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "INPUTRC": str(tmp_path / ".inputrc"),
        "TERM": "dumb",
        "SEGPLANE_META_ADDRESS": queries.address,
    }
    opened = Terminal(["query"], environment)
    try:
        opened.shown_until(PROMPT)
        yield opened
    finally:
        opened.close()


@pytest.mark.long
def test_a_terminal_completes_remembers_and_is_interrupted(
    terminal: Terminal, tmp_path: Path
) -> None:
    # Of tables, operators, functions and columns the beginning is enough.
    terminal.type("fail\t | summ\t n = countif(isnotem\t(wha\t));\n")
    completed = terminal.shown_until(PROMPT)
    terminal.type("\x1b[A\x1b[A\n")
    remembered = terminal.shown_until("42")
    terminal.shown_until(PROMPT)
    terminal.type("web | where bodi == 1;\n")
    refused = terminal.shown_until(PROMPT)
    terminal.type(
        "SELECT count(*) FROM web a, web b, web c, web d, web e, web f, web g"
        " WHERE a.body || b.body = c.body || d.body || e.body || f.body || g.body;\n"
    )
    terminal.shown_until("g.body;")
    progress = terminal.shown_until(" %")
    time_of_signal = time.monotonic()
    terminal.process.send_signal(signal.SIGINT)
    interrupted = terminal.shown_until(PROMPT)
    took = time.monotonic() - time_of_signal
    terminal.type("web | half a thou")
    terminal.shown_until("half a thou")
    terminal.interrupt_line()
    terminal.type("print after = 1 + 4;\n")
    after = terminal.shown_until(PROMPT)
    terminal.type("exit\n")

    assert "failures | summarize n = countif(isnotempty(what));" in completed
    assert "error" not in completed
    assert "print remembered = 6 * 7;" in remembered
    assert "error: 1:13: there is no column 'bodi'; did you mean 'body'?" in refused
    assert "\n            ^" in refused
    assert re.search(r"\r\[[#.]{30}\] +\d+ %$", progress)
    # The bar is gone before the error is written.
    assert interrupted.rpartition("\r")[2].startswith("error: the query was interrupted")
    assert took < DEADLINE_SECS / 2
    assert "5" in after.split("\n", 1)[1]
    assert terminal.process.wait(DEADLINE_SECS) == 0
    kept = (tmp_path / HISTORY).read_text().splitlines()
    assert "web | where bodi == 1;" in kept
    assert len(kept) < HISTORY_LINES_MAX
