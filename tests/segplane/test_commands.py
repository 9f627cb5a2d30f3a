"""All commands at once: JSON, examples, suggestions, old names, and what their help imports."""

import re
import shlex
import signal
import socket
import subprocess
import sys
from difflib import get_close_matches

import pytest
from click.testing import CliRunner

from segplane.__main__ import app
from segplane.cli.top_level import OLD_NAMES
from tests.support.commands import every_command

COMMANDS = every_command()
SHOWN = {name: command for name, command in COMMANDS.items() if not command.hidden}
# They run until they are stopped, or write a file or records in their own form.
WITHOUT_DATA = {
    *(("dev",), ("migrate",), ("demo",), ("spark-env",)),
    *(("query",), ("read",), ("test-send",)),
}
COMMANDS_MAX = 132
HEAVY = ("grpc", "google.protobuf", "pyarrow", "duckdb", "sqlglot", "boto3", "structlog", "rich")


def test_there_are_not_more_commands_than_there_were() -> None:
    assert len(SHOWN) <= COMMANDS_MAX


@pytest.mark.parametrize("name", SHOWN, ids=" ".join)
def test_a_command_that_prints_data_prints_json(name: tuple[str, ...]) -> None:
    options = {option for parameter in SHOWN[name].params for option in parameter.opts}

    assert ("--json" in options) == (name not in WITHOUT_DATA)


@pytest.mark.parametrize("name", SHOWN, ids=" ".join)
def test_the_help_of_a_command_has_an_example_that_it_takes(name: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(app, [*name, "--help"]).stdout

    (example,) = re.findall(r"^ *Example:\n +segplane (.+)", shown, re.MULTILINE)
    words = shlex.split(example)
    assert tuple(words[: len(name)]) == name
    SHOWN[name].make_context(example, words[len(name) :])


@pytest.mark.parametrize("name", SHOWN, ids=" ".join)
def test_every_option_has_a_help(name: tuple[str, ...]) -> None:
    assert [p.name for p in SHOWN[name].params if not p.help] == []


@pytest.mark.parametrize("name", SHOWN, ids=" ".join)
def test_an_unknown_name_is_answered_with_the_closest(name: tuple[str, ...]) -> None:
    *group, last = name
    typo = f"{last}x"

    command = CliRunner().invoke(app, [*group, typo])
    option = CliRunner().invoke(app, [*name, "--hepl"])

    assert (command.exit_code, option.exit_code) == (2, 2)
    assert get_close_matches(typo, [last])
    assert "Did you mean" in command.stderr
    assert repr(last) in command.stderr
    assert "--help" in option.stderr


@pytest.mark.parametrize("old", OLD_NAMES)
def test_a_name_of_0_2_0_works_and_warns(old: str) -> None:
    done = CliRunner().invoke(app, [*old.split(), "--help"])

    assert done.exit_code == 0
    assert done.stderr.startswith(f"warning: `segplane {old}` is now `segplane ")
    assert done.stdout.startswith("Usage: ")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["pins", "list", "--help"]])
def test_help_and_version_import_nothing_heavy(arguments: list[str]) -> None:
    source = f"""
import sys
from segplane.__main__ import main
sys.argv = ["segplane", *{arguments}]
try:
    main()
finally:
    print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_ctrl_c_ends_a_command_without_a_word() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-m", "segplane", "stats", "--meta-address", address]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            # A connection that is dropped is closed, and the command then says that meta is away.
            connection, _ = silent.accept()
            with connection:
                process.send_signal(signal.SIGINT)
                _, said = process.communicate()

    assert (process.returncode, said) == (130, "")
