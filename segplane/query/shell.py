"""Queries one after another at a prompt: history, completion, carets."""

from __future__ import annotations

import re
import readline
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from kql.catalog.table import completions
from kql.dataset_table import FORMAT_COLUMNS
from meta.client import MetaClient
from meta.errors import MetaError
from segplane.query.errors import QueryError
from segplane.query.runs import Ask, run
from segplane.query.tables import CatalogTables

HISTORY_LINES_MAX = 1_000
_PROMPT, _MORE = "segplane> ", "     ...> "
_LEAVE = frozenset(["exit", "quit"])
_NAME = re.compile(r"[\w.-]+")
_HELP = "End a query with ';' or an empty line; exit leaves."


class Completer:
    """Completes names of tables and columns, operators and functions."""

    def __init__(self, client: MetaClient) -> None:
        self._tables = CatalogTables(client)
        self._names = frozenset(self._tables)
        self._words = {*self._names, *FORMAT_COLUMNS, *completions()}
        self._looked_up: set[str] = set()
        self._completions: list[str] = []

    def __call__(self, text: str, state: int) -> str | None:
        """Return the completion with a number, None after the last, as readline asks for them."""
        if state == 0:
            self._add_columns(readline.get_line_buffer())
            self._completions = sorted(word for word in self._words if word.startswith(text))
        return self._completions[state] if state < len(self._completions) else None

    def _add_columns(self, line: str) -> None:
        """Add the columns of tables that a line names: promoted ones, and those of views."""
        for name in self._names.intersection(_NAME.findall(line)) - self._looked_up:
            self._looked_up.add(name)
            # A view that cannot be read says so when it is asked.
            with suppress(QueryError, MetaError, KeyError):
                self._words.update(self._tables[name].columns)


def shell(client: MetaClient, ask: Ask) -> None:
    """Ask for queries until the end of the input; a refusal is one line and a caret."""
    readline.set_completer(Completer(client))
    readline.set_completer_delims(" \t\n()[],|'\"=<>+*/;")
    readline.parse_and_bind("tab: complete")
    with suppress(OSError):
        readline.read_history_file(history_file())
    print(_HELP)
    while (text := _read()) is not None:
        _answer(client, text, ask)
    _keep_history()


def history_file() -> Path:
    """Return the file that keeps the last queries."""
    return Path.home() / ".local/state/segplane/query_history"


def _answer(client: MetaClient, text: str, ask: Ask) -> None:
    try:
        run(client, text, ask, datetime.now(UTC), None)
    except QueryError as error:
        if error.excerpt:
            print(error.excerpt, file=sys.stderr)
        print(f"error: {error}", file=sys.stderr)
    except MetaError as error:
        print(f"error: {error.message} ({error.reason})", file=sys.stderr)
    except KeyboardInterrupt:
        # While it was planned, or its result was printed: the prompt continues.
        print("error: the query was interrupted", file=sys.stderr)


def _read() -> str | None:
    """Read one query, which may be of several lines; None at the end."""
    lines: list[str] = []
    while True:
        try:
            line = input(_MORE if lines else _PROMPT)
        except EOFError:
            print()
            return "\n".join(lines) or None
        except KeyboardInterrupt:
            print()
            lines = []
            continue
        if not lines and line.strip() in _LEAVE:
            return None
        is_last = line.rstrip().endswith(";") and not line.lstrip().startswith("let ")
        if line.strip():
            lines.append(line)
        if lines and (is_last or not line.strip()):
            return "\n".join(lines)


def _keep_history() -> None:
    with suppress(OSError):
        file = history_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        readline.set_history_length(HISTORY_LINES_MAX)
        readline.write_history_file(file)
