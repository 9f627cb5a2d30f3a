"""Messages between the gateway and a query's process.

Requests are JSON from the process, which runs a caller's query, and are never unpickled. Replies
come from the gateway: a byte for the outcome, then bytes, or a pickle to unpickle.
"""

import struct
from dataclasses import dataclass
from datetime import datetime

REQUEST_BYTES_MAX = 2**20
# One read of a file; a process asks for larger ones piece by piece.
READ_BYTES_MAX = 4 * 2**20
REPLY_BYTES_MAX = 2**30
# The rows of a query, as its aggregation calls them; no dataset has such a name.
MATCHED = '"$matched"'
# The columns by which the rows of a page are ordered: two descending, the last one ascending.
ORDERED = ("timestamp", "timestamp_nanos", "segplane_digest")
DONE, REFUSED, MISSING = b"+", b"-", b"0"
# A message to the launcher is a letter and a process id; its answer is an id, or an exit code.
MESSAGE = struct.Struct(">cq")
START, WAIT = b"s", b"w"


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Limits of a process, which it gets before its query.

    `system_bytes` is the memory that the kernel gives it beyond that of its start, of which DuckDB
    may use `memory_bytes` for its buffers.
    """

    memory_bytes: int
    system_bytes: int
    spill_bytes: int
    threads: int


@dataclass(frozen=True, slots=True)
class NewestPage:
    """The newest `rows` rows of a query in KQL with the columns of ORDERED, newest first.

    They are read by windows of time, from the newest files on, and written as each window is
    complete: a line of JSON each. `skipped` of the first rows are not written. The rows are not
    newer than `before_micros`, microseconds since 1970; None = there is no such bound. With
    `is_counted`, a line with the number of all rows as `matched` precedes them.
    """

    rows: int
    skipped: int = 0
    before_micros: int | None = None
    is_counted: bool = False


@dataclass(frozen=True, slots=True)
class QueryTask:
    """A query, and the format of its result.

    With `newest_rows`, `text` is the name of a dataset whose newest rows are returned. `group` is
    that of datasets which KQL names without one, "" the default group. `adjusts_time` adds the
    time adjustment of each dataset to the times of its records. `aggregation` is SQL of the
    gateway's, never a caller's, over the rows of a query in KQL, which it calls MATCHED. `as_of` is
    the version that is read, or a time: the version of then. With `page`, only the newest rows are
    read, and `format` is not used.
    """

    text: str
    language: str | None
    format: str
    newest_rows: int = 0
    group: str = ""
    adjusts_time: bool = False
    aggregation: str = ""
    as_of: int | datetime | None = None
    page: NewestPage | None = None
