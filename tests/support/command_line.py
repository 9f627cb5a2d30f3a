"""The command line, run in this process."""

from collections.abc import Callable

from typer.testing import Result

RunCommand = Callable[..., Result]
