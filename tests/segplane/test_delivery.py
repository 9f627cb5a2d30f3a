"""test-send against a real stack: acknowledged, visible, merged."""

import pytest
from click.testing import CliRunner, Result

from segplane.__main__ import app
from segplane.stack.config import StackSettings
from segplane.stack.dev import COLLECTOR, Stack
from tests.support.nursery.merging import merging


def test_records_are_followed_from_the_sender_to_the_reader(prepared: StackSettings) -> None:
    with Stack(prepared, print, parts=(COLLECTOR,)) as stack:
        arguments = ["test-send", "--count", "600", "--token", stack.token]
        arguments += ["--endpoint", f"http://127.0.0.1:{stack.settings.otlp_http_port}"]
        arguments += ["--meta-address", stack.settings.meta_address]
        wrong = CliRunner().invoke(
            app, ["test-send", *arguments[1:3], *arguments[5:], "--token", "x"]
        )
        unmerged = CliRunner().invoke(app, [*arguments, "--timeout", "3"])
        with merging(stack):
            merged = CliRunner().invoke(app, arguments)

    assert wrong.exit_code == 1
    assert "the collector answers 401" in wrong.stderr
    assert unmerged.exit_code == 1
    assert steps(unmerged) == ["600 records acknowledged", "600 records visible"]
    assert "0 of 600 acknowledged records are merged in time" in unmerged.stderr
    assert merged.exit_code == 0
    assert steps(merged) == [*steps(unmerged), "600 records merged"]


@pytest.mark.long
def test_test_send_finds_the_token_and_the_ports_of_a_stack_of_this_machine(
    prepared: StackSettings,
) -> None:
    with Stack(prepared, print, parts=(COLLECTOR,)) as stack:
        where = ["--meta-address", stack.settings.meta_address]
        where += ["--data-dir", str(stack.settings.data_dir)]
        with merging(stack):
            done = CliRunner().invoke(app, ["test-send", "--count", "3", *where])
    stopped = CliRunner().invoke(app, ["test-send", *where])

    assert done.exit_code == 0, done.output
    assert steps(done)[-1] == "3 records merged"
    assert stopped.exit_code == 2
    assert "--token" in stopped.stderr


def steps(done: Result) -> list[str]:
    """The steps that were reported; the nursery of the test logs to the same output."""
    return [line.split(" s  ")[1] for line in done.stdout.splitlines() if " s  " in line]
