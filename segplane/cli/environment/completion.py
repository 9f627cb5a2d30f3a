"""Completion of commands, options and names by shells, and its installation for one person."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from segplane.cli.care import Kind
from segplane.cli.connection import DEFAULT_ADDRESS, open_client
from segplane.cli.environment import profiles
from segplane.cli.messages import MetaClient
from segplane.cli.messages import resources_pb2 as pb
from segplane.login.saved import LoginError, config_folder

PROGRAM = "segplane"
# Click completes if it finds this variable, which the script sets.
VARIABLE = "_SEGPLANE_COMPLETE"
NAMES_MAX, CALL_SECS = 200, 2.0
SHELLS = ("bash", "zsh", "fish")
# Above every character of a name.
_LAST = "\U0010ffff"


def names_that_begin(noun: str, context: click.Context, begin: str) -> list[str]:
    """Return names of a noun from meta, at most 200 a kind; none if it does not answer in 2 s.

    Datasets of a group follow its name and a slash. Names that a shell would split are left out.
    """
    from meta.errors import MetaError
    from meta.process.exits import ConfigError

    parameters = context.params
    profile = context.find_root().params.get("profile") or ""
    try:
        with profiles.applied(profile, ["--meta-address"] if parameters.get("address") else []):
            address = parameters.get("address") or os.environ.get(profiles.ADDRESS, DEFAULT_ADDRESS)
            with open_client(address) as client:
                names = list(_names(client, Kind(noun), begin))
    except (MetaError, ConfigError, LoginError, profiles.ProfileError, OSError):
        # A shell has no place for an error, and what was typed stays.
        return []
    return [name for name in names if shlex.quote(name) == name]


def script(shell: str) -> str:
    """Return what a shell has to read. Raises click.UsageError for another one."""
    made = get_completion_class(shell)
    if shell not in SHELLS or made is None:
        raise click.UsageError(f"the shell is {shell!r}, expected one of {', '.join(SHELLS)}")
    return made(click.Command(PROGRAM), {}, PROGRAM, VARIABLE).source()


def install(shell: str) -> list[Path]:
    """Write the script where the shell finds it, as often as one likes; returns changed files.

    Bash and zsh get a line in .bashrc or .zshrc. Raises OSError, click.UsageError.
    """
    text = script(shell)
    if shell == "fish":
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        return [_written(folder / "fish" / "completions" / f"{PROGRAM}.fish", text)]
    path = _written(config_folder() / f"completion.{shell}", text)
    home = (os.environ.get("ZDOTDIR") if shell == "zsh" else "") or Path.home()
    run_file = Path(home) / f".{shell}rc"
    line = f". {shlex.quote(str(path))}  # completion of {PROGRAM}"
    content = run_file.read_text() if run_file.exists() else ""
    if line in content.splitlines():
        return [path]
    with run_file.open("a") as file:
        file.write(line + "\n" if not content or content.endswith("\n") else f"\n{line}\n")
    return [path, run_file]


def _names(client: MetaClient, kind: Kind, begin: str) -> Iterator[str]:
    if kind is not Kind.DATASET:
        yield from (each.name for each in _listed(client, kind, begin))
        return
    group, slash, beginning = begin.rpartition("/")
    if not slash:
        yield from (f"{each.name}/" for each in _listed(client, Kind.GROUP, begin))
    for each in _listed(client, kind, beginning):
        if each.group == group:
            yield f"{group}{slash}{each.name}"


def _listed(client: MetaClient, kind: Kind, begin: str) -> Iterator[pb.Resource]:
    request = pb.ListResourcesRequest(
        kind=kind.number, name_from=begin or None, name_to=f"{begin}{_LAST}", limit=NAMES_MAX
    )
    return iter(client.resources.ListResources(request, timeout=CALL_SECS).items)


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
