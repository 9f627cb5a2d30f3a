"""Exit of a process with wrong settings: one line on stderr and exit code 2."""

import sys
from typing import NoReturn

CONFIG_EXIT_CODE = 2


class ConfigError(Exception):
    """A setting is missing or malformed; the message names it and says what to do."""


def fail(message: str) -> NoReturn:
    """End the process with one line on stderr and exit code 2."""
    print(f"error: {message}", file=sys.stderr)  # noqa: T201
    sys.exit(CONFIG_EXIT_CODE)
