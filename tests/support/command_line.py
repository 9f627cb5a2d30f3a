"""The command line, run in this process."""

from collections.abc import Callable

from click.testing import Result

RunCommand = Callable[..., Result]
