"""Backups of a database as operators make them: by pg_dump, and back by pg_restore."""

import subprocess
from pathlib import Path

from segplane.stack.postgres_folder import choose_user, find_install


def dump(url: str, path: Path) -> None:
    """Write a database to a file."""
    _run(path, "pg_dump", "--format=custom", "--file", str(path), "--dbname", url)


def restore(path: Path, url: str) -> None:
    """Fill an empty database from a dump."""
    _run(path, "pg_restore", "--no-owner", "--exit-on-error", "--dbname", url, str(path))


def _run(path: Path, name: str, *arguments: str) -> None:
    install = find_install(path.parent, choose_user(path.parent))
    command = [str(install / "bin" / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
