"""Positions of checks in a file, so that an interrupted check can continue."""

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from segplane.terminal.whole_files import whole_file

# Kept in memory, in the file and in the output; the rest is only counted.
KEPT_MAX = 10_000


class CursorRefused(Exception):
    """A cursor file cannot be used; the message is one line that says why."""


@dataclass(slots=True)
class DataCursor:
    """Position of `segplane fsck --data`: everything up to `after_key` was checked.

    Objects are chosen by `sample` (a share of all) and `seed`. `damaged` and `unread` are rows of
    (key, segment id, text); unread are those for which the store gave no answer.
    """

    sample: float = 1.0
    since: int = 0
    seed: int = 0
    after_key: str = ""
    objects: int = 0
    size_bytes: int = 0
    secs: float = 0.0
    num_damaged: int = 0
    num_unread: int = 0
    damaged: list[list[str]] = field(default_factory=list)
    unread: list[list[str]] = field(default_factory=list)


@dataclass(slots=True)
class CatalogTotals:
    """Totals of a check; orphans are keys of garbage, foreign are names that Segplane never gives.

    `duplicates` are records that were skipped because their events are rows.
    """

    streams: int = 0
    segments: int = 0
    babies: int = 0
    objects: int = 0
    num_orphans: int = 0
    foreign: int = 0
    duplicates: int = 0
    orphans: list[str] = field(default_factory=list)


@dataclass(slots=True)
class CatalogCursor(CatalogTotals):
    """Position of `segplane fsck`: all keys up to `after_key` were compared.

    `findings` are rows of (kind, object key, subject id, message, repair), `unknown` keys of which
    the database knows nothing.
    """

    orphan_age_secs: int = 86_400
    after_key: str = ""
    is_complete: bool = False
    num_findings: int = 0
    findings: list[list[str]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    num_unknown: int = 0


Cursor = TypeVar("Cursor")
Row = TypeVar("Row")


def keep_row(rows: list[Row], row: Row) -> None:
    """Keep a row unless there are very many."""
    if len(rows) < KEPT_MAX:
        rows.append(row)


def load(path: Path, begin: Cursor, fixed: tuple[str, ...]) -> Cursor:
    """Read the position of a check, or begin one if there is no file.

    The fields `fixed` are the check's options: those of the file must be those of `begin`. Raises
    CursorRefused.
    """
    try:
        stored: Any = json.loads(path.read_text())
    except FileNotFoundError:
        return begin
    except (OSError, ValueError) as error:
        raise CursorRefused(f"{path} cannot be read as a cursor file: {error}") from error
    names = {f.name for f in fields(begin)}  # type: ignore[arg-type]
    if not isinstance(stored, dict) or stored.pop("check", None) != type(begin).__name__:
        raise CursorRefused(f"{path} is not a cursor file of this check: delete it to start again")
    for name in fixed:
        if stored.get(name) != getattr(begin, name):
            raise CursorRefused(
                f"{path} is of a check with {name} = {stored.get(name)}, not"
                f" {getattr(begin, name)}: repeat its options, or delete it to start again"
            )
    if set(stored) != names:
        raise CursorRefused(f"{path} is of another release: delete it to start again")
    return type(begin)(**stored)


def save(path: Path, cursor: object) -> None:
    """Write the position, so that a crash leaves the file of before or this one."""
    content = {"check": type(cursor).__name__, **asdict(cursor)}  # type: ignore[call-overload]
    with whole_file(path) as file:
        file.write(json.dumps(content).encode())
