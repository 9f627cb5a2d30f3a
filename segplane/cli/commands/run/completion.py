"""segplane completion: what shells read to complete commands, options and names."""

import os
from pathlib import Path
from typing import Annotated

from segplane.cli.command import command, group
from segplane.cli.output import Answer
from segplane.cli.parameters import Option, Positional

app = group()


@command(app, "completion --install")
def completion(
    shell: Annotated[
        str | None, Positional(metavar="[bash|zsh|fish]", help="By default that of $SHELL.")
    ] = None,
    install: Annotated[bool, Option("--install")] = False,
) -> Answer:
    """Print what a shell reads to complete commands, options, and names of datasets and others.

    Names are those of the meta that the command line would call, with its profile or login.

    Options:
        install: Keep it in your home, and have bash or zsh read it by a line in .bashrc or .zshrc;
            nothing is changed the second time.
    """
    from segplane.cli.environment import completion as shells

    name = shell or Path(os.environ.get("SHELL", "")).name
    if not install:
        text = shells.script(name)
        return Answer({"shell": name, "script": text}, [text])
    changed = [str(path) for path in shells.install(name)]
    notes = [f"it counts from the next {name} on"]
    return Answer({"shell": name, "files": changed}, changed, notes)
