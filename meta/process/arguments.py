"""Command line of the processes, whose settings are environment variables."""

import argparse

from meta.process.installed import installed_release

CHILD_FLAG = "--child"


def read_arguments(module: str, purpose: str, *, has_children: bool = False) -> int | None:
    """Answer `--help` and `--version`; end with usage and exit code 2 for an unknown argument.

    Returns the number of this child of a process that starts several of itself
    (`has_children`), and None in every other process.
    """
    process = module.rpartition(".")[2]
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=purpose,
        epilog=(
            "Settings are the environment variables that docs/settings.md lists:"
            f" {process.upper()}_* and SEGPLANE_*. `segplane config show {process}` prints them."
        ),
        allow_abbrev=False,
    )
    release = f"segplane {process} {installed_release()}"
    parser.add_argument("--version", action="version", version=release)
    if has_children:
        parser.add_argument(CHILD_FLAG, type=int, dest="child", help=argparse.SUPPRESS)
    parser.set_defaults(child=None)
    child: int | None = parser.parse_args().child
    return child
