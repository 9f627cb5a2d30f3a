"""A query's process: it prepares itself, waits for one query, runs it, and ends.

It has no credentials and, if the kernel can filter calls, no way to make a connection. It asks the
gateway for everything else. The gateway answers once it has handed over a query, and closes its
ends of the lanes when the query is to end.
"""

from __future__ import annotations

import ctypes
import io
import os
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import IO, TYPE_CHECKING, NoReturn, cast

from dataplane.processes.child_process import receive_value
from segplane.gateway.queries.kusto_result import write_kusto
from segplane.gateway.queries.processes import sandbox, wire
from segplane.gateway.queries.processes.newest_page import write_newest_page
from segplane.gateway.queries.processes.prepared import prepared_connection, query_limits
from segplane.gateway.queries.processes.remote import (
    Lanes,
    RemoteTables,
    open_newest,
    open_remote,
    open_remote_group,
)
from segplane.gateway.queries.row_lines import write_row_lines
from segplane.query.engine import opened_query
from segplane.query.errors import QueryError, QueryStopped
from segplane.query.explain import explanation
from segplane.query.newest import write_newest
from segplane.query.plan import QueryPlan
from segplane.query.results.output import Format, write_spreadsheet
from segplane.query.runs import Language, define_views, plan_over, write_result
from segplane.query.sources import QueryPlace

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Names of a process in the lists of its machine.
WAITING_NAME, RUNNING_NAME = "query-waiting", "query-running"
_PR_SET_NAME = 15


def run_query(
    database: DuckDBPyConnection, lanes: Sequence[socket.socket], output: int
) -> NoReturn:
    """Take limits and then a query from the gateway, write its result, and end the process."""
    code = 1
    try:
        limits = cast("wire.ProcessLimits", receive_value(lanes[0], wire.REQUEST_BYTES_MAX))
        sandbox.enter(limits.system_bytes, limits.spill_bytes)
        process = _PreparedProcess(database, limits)
        ctypes.CDLL(None).prctl(_PR_SET_NAME, WAITING_NAME.encode())
        task = cast("wire.QueryTask", receive_value(lanes[0], wire.REQUEST_BYTES_MAX))
        ctypes.CDLL(None).prctl(_PR_SET_NAME, RUNNING_NAME.encode())
        with open(output, "wb") as file:
            process.finish(task, Lanes(lanes), file)
        code = 0
    except (EOFError, OSError):
        # Nobody waits for a result any more.
        pass
    finally:
        # Threads that still read have nobody to read for.
        os._exit(code)


class _PreparedProcess:
    """A process with DuckDB open, or with the error of that, which its query gets."""

    def __init__(self, database: DuckDBPyConnection, limits: wire.ProcessLimits) -> None:
        self._limits = limits
        # Never closed: the launcher removes the folder, and the kernel the rest.
        self._opened = ExitStack()
        self._connection: DuckDBPyConnection | None = None
        self._failure: Exception | None = None
        try:
            self._connection = self._opened.enter_context(prepared_connection(database, limits))
        except Exception as error:  # noqa: BLE001 - told where there is a query to tell it of
            self._failure = error

    def finish(self, task: wire.QueryTask, lanes: Lanes, file: IO[bytes]) -> None:
        """Run a query, and tell the gateway how it ended."""
        lanes.ask(op="begin")
        outcome = {"kind": "done", "message": "", "excerpt": ""}
        try:
            self._run(task, lanes, file)
            file.flush()
        except QueryStopped as error:
            outcome |= {"kind": "stopped", "message": str(error)}
        except QueryError as error:
            outcome |= {"kind": "refused", "message": str(error), "excerpt": error.excerpt}
        except MemoryError:
            outcome |= {"kind": "memory"}
        except (EOFError, BrokenPipeError):
            raise
        except Exception as error:  # noqa: BLE001 - the gateway logs it, its caller gets an answer
            outcome |= {"kind": "failed", "message": f"{type(error).__name__}: {error}"[:1_000]}
        lanes.ask(op="end", **outcome)

    def _run(self, task: wire.QueryTask, lanes: Lanes, file: IO[bytes]) -> None:
        if self._failure is not None:
            raise self._failure
        if task.newest_rows:
            with open_newest(lanes, task.text, task.newest_rows) as dataset:
                write_newest(dataset, task.newest_rows, file)
            return
        language = cast("Language | None", task.language)
        tables = RemoteTables(lanes)
        planned = plan_over(tables, task.text, language, datetime.now(UTC), task.group)
        if planned.warnings:
            lanes.ask(op="warn", texts=list(planned.warnings))
        if task.aggregation:
            planned = _aggregated(planned, task.aggregation)
        with opened_query(
            planned,
            QueryPlace(
                as_of=_version(planned, task, lanes),
                opener=partial(open_remote, lanes, task.adjusts_time),
                group_opener=partial(open_remote_group, lanes),
                adjusts_time=task.adjusts_time,
            ),
            query_limits(self._limits),
            prepare=define_views(planned),
            connection=self._connection,
        ) as query:
            if task.page is not None:
                write_newest_page(query, task.page, file)
            elif task.format == "kusto":
                write_kusto(query, file)
            elif task.format == "spreadsheet":
                reader, forms = query.result()
                text = io.TextIOWrapper(file, "utf-8", newline="")
                write_spreadsheet(reader, forms, text)
                text.flush()
                text.detach()
            elif task.format == "rows":
                write_row_lines(query, file)
            elif task.format == "plan":
                lines = explanation(query, has_keys=True)
                file.writelines(f"{line}\n".encode() for line in lines)
            else:
                write_result(query, cast("Format", task.format), 0, file)


def _version(planned: QueryPlan, task: wire.QueryTask, lanes: Lanes) -> int | None:
    """Return the version to read, None for the current one. Raises QueryError."""
    if task.as_of is None:
        return None
    version: int | None = lanes.ask_value(op="version", names=[r.name for r in planned.reads])
    return version


def _aggregated(planned: QueryPlan, aggregation: str) -> QueryPlan:
    """Return a plan whose rows are those of an aggregation of its rows."""
    sql = f"WITH {wire.MATCHED} AS ({planned.sql}) {aggregation}"
    return replace(planned, sql=sql, columns=None)
