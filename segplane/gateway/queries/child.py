"""A query's process: it runs one query, and ends.

It has no credentials and, where the kernel can filter calls, no way to make a connection. What it
needs it asks of the gateway, whose ends of the lanes close when the query is to end.
"""

import os
import pickle
import socket
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import IO, NoReturn, cast

from segplane.gateway.queries import sandbox, wire
from segplane.gateway.queries.kusto_result import write_kusto
from segplane.gateway.queries.remote import Lanes, RemoteTables, open_newest, open_remote
from segplane.query.engine import QueryLimits, opened_query
from segplane.query.errors import QueryError, QueryStopped
from segplane.query.newest import write_newest
from segplane.query.output import Format
from segplane.query.runs import Language, define_views, plan_over, write_result
from segplane.query.sources import QueryPlace


def run_query(lanes: Sequence[socket.socket], output: int) -> NoReturn:
    """Take a query from the gateway, write its result, and end the process."""
    code = 1
    try:
        # From the gateway, which started us.
        task: wire.QueryTask = pickle.loads(wire.receive(lanes[0], wire.REQUEST_BYTES_MAX))  # noqa: S301
        sandbox.enter(task.system_bytes, task.spill_bytes)
        with open(output, "wb") as file:
            _finish(task, Lanes(lanes), file)
        code = 0
    except (EOFError, OSError):
        # Nobody waits for a result any more.
        pass
    finally:
        # Threads that still read have nobody to read for.
        os._exit(code)


def _finish(task: wire.QueryTask, lanes: Lanes, file: IO[bytes]) -> None:
    """Run a query, and tell the gateway how it ended."""
    lanes.ask(op="begin")
    outcome = {"kind": "done", "message": "", "excerpt": ""}
    try:
        _run(task, lanes, file)
        file.flush()
    except QueryStopped as error:
        outcome |= {"kind": "stopped", "message": str(error)}
    except QueryError as error:
        outcome |= {"kind": "refused", "message": str(error), "excerpt": error.excerpt}
    except MemoryError:
        outcome |= {"kind": "memory"}
    except (EOFError, BrokenPipeError):
        raise
    except Exception as error:  # noqa: BLE001 - the gateway logs it, and its caller gets an answer
        outcome |= {"kind": "failed", "message": f"{type(error).__name__}: {error}"[:1_000]}
    lanes.ask(op="end", **outcome)


def _run(task: wire.QueryTask, lanes: Lanes, file: IO[bytes]) -> None:
    if task.newest_rows:
        with open_newest(lanes, task.text, task.newest_rows) as dataset:
            write_newest(dataset, task.newest_rows, file)
        return
    language = cast("Language | None", task.language)
    planned = plan_over(RemoteTables(lanes), task.text, language, datetime.now(UTC))
    # The gateway keeps the time.
    limits = QueryLimits(task.memory_bytes, None, task.threads, task.spill_bytes)
    place = QueryPlace(opener=partial(open_remote, lanes))
    with opened_query(planned, place, limits, prepare=define_views(planned)) as query:
        if task.format == "kusto":
            write_kusto(query, file)
        else:
            write_result(query, cast("Format", task.format), 0, file)
