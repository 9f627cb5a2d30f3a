"""ClickHouse's side, run by the interpreter that has chDB: inserts, bytes, time of questions.

Reads one JSON object from stdin and writes one to stdout. It imports nothing of ours.
"""

import json
import resource
import sys
import tempfile
import time
from typing import Any

from chdb import session

SETTINGS = (
    "max_threads = 2, max_insert_threads = 1, max_insert_block_size = 100000,"
    " min_insert_block_size_rows = 100000, min_insert_block_size_bytes = 0"
)
MERGES_SECS_MAX = 600.0


def main() -> None:
    """Insert the Arrow streams, wait for merges, ask the questions."""
    order = json.load(sys.stdin)
    with tempfile.TemporaryDirectory(prefix="clickhouse-", dir=order["folder"]) as data:
        database = session.Session(data)
        for statement in order["tables"]:
            database.query(statement)
        # Once before it is measured, as Segplane's processes have had records before too.
        insert(database, order)
        wait_for_merges(database)
        for table in order["inserts"]:
            database.query(f"TRUNCATE TABLE {table}")
        began = cpu_secs()
        insert(database, order)
        inserted = cpu_secs()
        wait_for_merges(database)
        merged = cpu_secs()
        answer = {
            "version": rows(database, "SELECT version()")[0][0],
            "insert_secs": inserted - began,
            "merge_secs": merged - inserted,
            "bytes": int(
                rows(database, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active")[0][0]
            ),
            "questions": {
                name: ask(database, text, order["rounds"])
                for name, text in order["questions"].items()
            },
        }
    print(json.dumps(answer))


def insert(database: Any, order: dict[str, Any]) -> None:
    """Insert the Arrow streams."""
    for table, stream in order["inserts"].items():
        path = f"{order['folder']}/{stream}"
        columns = ", ".join(order["columns"][table])
        database.query(
            f"INSERT INTO {table} ({columns})"  # noqa: S608
            f" SELECT {columns} FROM file('{path}', 'ArrowStream') SETTINGS {SETTINGS}"
        )


def wait_for_merges(database: Any) -> None:
    """Return when no merge has run for two seconds."""
    deadline, quiet_since = time.monotonic() + MERGES_SECS_MAX, time.monotonic()
    while time.monotonic() < deadline and time.monotonic() - quiet_since < 2.0:
        if int(rows(database, "SELECT count() FROM system.merges")[0][0]):
            quiet_since = time.monotonic()
        time.sleep(0.1)


def ask(database: Any, text: str, rounds: int) -> dict[str, Any]:
    """Ask once to warm up, then return the median wall time and CPU in milliseconds."""
    found = rows(database, text)
    walls, cpus = [], []
    for _ in range(rounds):
        wall, cpu = time.perf_counter(), cpu_secs()
        rows(database, text)
        walls.append(1e3 * (time.perf_counter() - wall))
        cpus.append(1e3 * (cpu_secs() - cpu))
    middle = rounds // 2
    return {
        "rows": len(found),
        "first": found[:1],
        "wall_ms": sorted(walls)[middle],
        "cpu_ms": sorted(cpus)[middle],
    }


def rows(database: Any, text: str) -> list[list[Any]]:
    """Return the rows of a query, with two threads."""
    reply = database.query(f"{text} SETTINGS max_threads = 2", "JSONCompact")
    return list(json.loads(reply.bytes())["data"])


def cpu_secs() -> float:
    """User and system time of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
