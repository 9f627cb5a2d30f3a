"""Every command of the command line, with its name and its parameters."""

from collections.abc import Iterator
from typing import Any

from segplane.__main__ import app


def every_command() -> dict[tuple[str, ...], Any]:
    """Return the commands by their names."""
    return dict(_below(app, ()))


def _below(command: Any, name: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "list_commands"):
        yield name, command
        return
    for each in command.list_commands(None):
        yield from _below(command.get_command(None, each), (*name, each))
