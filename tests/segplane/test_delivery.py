"""test-send against a real stack: acknowledged, visible, merged."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from segplane.__main__ import app
from segplane.stack.config import StackSettings
from segplane.stack.dev import COLLECTOR, Stack
from tests.support.nursery.drivers import nursery


@contextmanager
def merging(stack: Stack) -> Iterator[None]:
    """Run a nursery without Spark."""
    is_over = threading.Event()

    def run(client: object) -> None:
        merges = nursery(client)  # type: ignore[arg-type]
        while not is_over.wait(0.1):
            merges.cycle()

    with stack.connect() as client:
        thread = threading.Thread(target=run, args=(client,))
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()


@pytest.mark.parametrize("is_merging", [True, False])
def test_records_are_followed_from_the_sender_to_the_reader(
    settings: StackSettings, is_merging: bool
) -> None:
    with Stack(settings, print, parts=(COLLECTOR,)) as stack:
        arguments = ["test-send", "--count", "600", "--token", stack.token]
        arguments += ["--endpoint", f"http://127.0.0.1:{stack.settings.otlp_http_port}"]
        arguments += ["--meta-address", stack.settings.meta_address]
        wrong = CliRunner().invoke(
            app, ["test-send", *arguments[1:3], *arguments[5:], "--token", "x"]
        )
        if is_merging:
            with merging(stack):
                done = CliRunner().invoke(app, arguments)
        else:
            done = CliRunner().invoke(app, [*arguments, "--timeout", "3"])

    # The nursery of the test logs to the same output.
    lines = [line.split(" s  ")[1] for line in done.stdout.splitlines() if " s  " in line]
    assert lines[:2] == ["600 records acknowledged", "600 records visible"]
    assert wrong.exit_code == 1
    assert "the collector answers 401" in wrong.stderr
    if is_merging:
        assert (done.exit_code, lines[2:]) == (0, ["600 records merged"])
    else:
        assert (done.exit_code, lines[2:]) == (1, [])
        assert "0 of 600 acknowledged records are merged in time" in done.stderr
