"""The installed release, which every process and the command line name."""

from functools import cache
from importlib.metadata import version


@cache
def installed_release() -> str:
    """Return the version of the installed distributions, as in `0.3.0.dev0`.

    `segplane-server` needs `segplane` of its own version, so the two have one.
    """
    return version("segplane")
