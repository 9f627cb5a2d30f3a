"""Programs of Postgres that copy and restore a database."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

# Of what a program wrote to its standard error.
_SHOWN_CHARACTERS = 600


class ToolFailed(Exception):
    """A program of Postgres is missing or has failed; the message is one line."""


def find_tool(name: str, folder: Path | None) -> Path:
    """Find a program in a folder, or by PATH. Raises ToolFailed."""
    program = shutil.which(name, path=None if folder is None else str(folder))
    if program is None:
        where = "PATH" if folder is None else str(folder)
        raise ToolFailed(
            f"{name} is not in {where}: install the client programs of the server's own release of"
            " Postgres, and name their folder with --tools"
        )
    return Path(program)


@contextmanager
def output_of(
    program: Path, arguments: Sequence[str], environment: Mapping[str, str]
) -> Iterator[IO[bytes]]:
    """Run a program and read its output; raises ToolFailed with its words if it fails."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            [str(program), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **environment},
        )
        assert child.stdout is not None
        try:
            yield child.stdout
        except BaseException:
            child.kill()
            raise
        finally:
            child.stdout.close()
            exit_code = child.wait()
        if exit_code:
            raise ToolFailed(f"{program.name} ended with {exit_code}: {_words(errors)}")


def _words(errors: IO[bytes]) -> str:
    """The end of what a program said, in one line."""
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - 4 * _SHOWN_CHARACTERS))
    return " ".join(errors.read().decode(errors="replace").split())[-_SHOWN_CHARACTERS:]
