"""Queries in DuckDB over all datasets and views: each by its name, and a dataset by its signals.

Dataset `web` is the view `web` with all records, and `web.logs`, `web.traces` and `web.metrics`; a
view of the catalog is one of DuckDB. Nothing can be written, and no other file be read.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kql.dataset_table import CONSTANTS, STORED_WORDS, VALUE, constants_of
from kql.errors import suggestion
from segments.signals import SIGNALS
from segplane.query.errors import QueryWarning
from segplane.query.quoting import FREE_MEMORY, literal, quoted
from segplane.query.results.arrow_values import with_unique_names
from segplane.query.results.duckdb_types import forms, with_arrow_types
from segplane.query.sql import sql_constants, sql_points, sql_slips, sql_words
from segplane.read import OpenDataset, OpenView, ReadError
from segplane.read.errors import ViewRefused, sentence
from segplane.read.rows.duckdb_functions import computed_sql, define_functions, rate

if TYPE_CHECKING:
    import pyarrow as pa

_READING = {
    duckdb.StatementType.SELECT,
    duckdb.StatementType.EXPLAIN,
    duckdb.StatementType.CALL,
    duckdb.StatementType.PRAGMA,
    # A PIVOT, which is several statements.
    duckdb.StatementType.MULTI,
}
_BATCH_ROWS = 2_048
_NO_TABLE = re.compile(r"(Table with name (\S+) does not exist)")


@dataclass(frozen=True, slots=True)
class SessionResult:
    """The rows of a statement, and the form of each column."""

    reader: pa.RecordBatchReader
    forms: list[pa.DataType]


class SqlSession:
    """A connection of DuckDB that opens the datasets of a statement, for its time.

    `names` lists datasets and views, `open_one` opens one. Statements of different times see
    different versions; within a statement each dataset, and each view, is read at one.
    """

    def __init__(
        self, names: Callable[[], Sequence[str]], open_one: Callable[[str], OpenDataset | OpenView]
    ) -> None:
        self._names = names
        self._open_one = open_one
        # Of the datasets of the statement, by name.
        self._constants: dict[str, dict[str, str]] = {}
        self._connection = duckdb.connect()
        self._connection.execute("SET TimeZone = 'UTC'")
        for statement in FREE_MEMORY:
            self._connection.execute(statement)
        define_functions(self._connection)
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def query(self, text: str) -> Iterator[SessionResult]:
        """Run one statement and read its rows. Raises ReadError."""
        try:
            statements = duckdb.extract_statements(text)
        except duckdb.Error as error:
            raise ReadError(f"{sentence(error)} {sql_slips.hint(text)}".strip()) from None
        if len(statements) != 1:
            raise ReadError(f"expected one statement, found {len(statements)}")
        if statements[0].type not in _READING:
            raise ReadError("only queries are possible: nothing here can be written")
        tree = _tree(text)
        with ExitStack() as opened:
            unreadable = dict(self._show_all(opened, self._mentioned(text), tree))
            for warning in () if tree is None else sql_words.warnings_of(tree, STORED_WORDS):
                warnings.warn(warning, QueryWarning, stacklevel=2)
            try:
                if tree is not None:
                    text = sql_constants.without_in_stars(tree, self._constants) or text
                rows = self._connection.sql(text)
                if rows is None:
                    raise ReadError("the statement gives no rows")
                reader = with_arrow_types(rows).to_arrow_reader(_BATCH_ROWS)
                yield SessionResult(with_unique_names(reader), forms(rows, reader.schema))
            except duckdb.Error as error:
                # A name that stands somewhere in the text need not be one that is read.
                for name, refusal in unreadable.items():
                    if f"Table with name {name} does not exist" in str(error):
                        raise refusal from None
                raise ReadError(self._sentence(error)) from error

    def _sentence(self, error: duckdb.Error) -> str:
        """Return DuckDB's error as a sentence, which suggests our names and none of its own."""
        missing = _NO_TABLE.search(str(error))
        if missing is None:
            return sentence(error)
        hint = suggestion(missing[2], self._names(), "see segplane datasets list")
        return f"{missing[1]}: {hint}"

    def _mentioned(self, text: str) -> list[str]:
        """Names in the text, wherever they stand in it: a view too many does no harm."""
        folded = text.casefold()
        return [name for name in self._names() if name.replace('"', '""').casefold() in folded]

    def _show_all(
        self, opened: ExitStack, names: Sequence[str], tree: exp.Expr | None
    ) -> Iterator[tuple[str, ViewRefused]]:
        """Make what names stand for until the statement is over; yield what cannot be read."""
        has_value = tree is None or not sql_points.gives_value(tree)
        self._constants = {}
        for name in names:
            try:
                shown = self._open_one(name)
            except ViewRefused as error:
                yield name, error
                continue
            opened.callback(shown.close)
            if isinstance(shown, OpenView):
                self._show_view(opened, name, shown)
            else:
                values = constants_of(name, shown.dataset_id, shown.schema.names)
                self._constants[name] = {} if tree is None else sql_constants.read_by(tree, values)
                self._show_dataset(opened, name, shown, has_value=has_value)
        has_flags = tree is not None and sql_points.have_flags(tree, self._constants.__contains__)
        self._connection.execute(rate(has_flags=has_flags))

    def _show_view(self, opened: ExitStack, name: str, view: OpenView) -> None:
        sql, tables = view.register(self._connection)
        for table in tables:
            opened.callback(self._connection.unregister, table)
        self._connection.execute(f"CREATE OR REPLACE VIEW main.{quoted(name)} AS {sql}")
        opened.callback(self._connection.execute, f"DROP VIEW IF EXISTS main.{quoted(name)}")

    def _show_dataset(
        self, opened: ExitStack, name: str, dataset: OpenDataset, *, has_value: bool
    ) -> None:
        schema = quoted(name)
        self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        opened.callback(self._connection.execute, f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        constants = self._constants[name]
        make_view = partial(self._make_view, opened, constants, has_value=has_value)
        make_view(dataset, f"main.{schema}", f"segplane {name}")
        for signal in SIGNALS:
            of_signal = dataset.of_signal(signal)
            make_view(of_signal, f"{schema}.{signal}", f"segplane {name} {signal}")

    def _make_view(
        self,
        opened: ExitStack,
        constants: Mapping[str, str],
        dataset: OpenDataset,
        view: str,
        source: str,
        *,
        has_value: bool,
    ) -> None:
        connection = self._connection
        connection.register(source, dataset.source())
        opened.callback(connection.unregister, source)
        names = {name.lower() for name in dataset.schema.names}
        is_computed = has_value and VALUE not in names and "value_double" in names
        values = [f"{computed_sql(VALUE)} AS {VALUE}"] if is_computed else []
        values += [f"{literal(value)} AS {name}" for name, value in constants.items()]
        columns = ", ".join(["*", *values])
        connection.execute(
            f"CREATE OR REPLACE VIEW {view} AS SELECT {columns} FROM {quoted(source)}"  # noqa: S608
        )
        opened.callback(connection.execute, f"DROP VIEW IF EXISTS {view}")


def _tree(text: str) -> exp.Expr | None:
    """Return the tree of a statement with names whose meaning depends on it; None of others."""
    folded = text.casefold()
    if not any(name in folded for name in (VALUE, "rate", CONSTANTS[0], *STORED_WORDS)):
        return None
    try:
        return sqlglot.parse_one(text, read="duckdb")
    except (SqlglotError, RecursionError):
        # DuckDB has the last word on what is SQL.
        return None
