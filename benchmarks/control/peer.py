"""A peer that publishes files: `python peer.py NAME URL FOLDER CALLERS SECONDS FILES [read]`.

Runs in the environment of the peers, without this project. Every caller has its own table and
publishes the same small Parquet file under new names, FILES of them in each commit, over and over.
Prints how many files were published in how many seconds, and how often a caller had to begin again.

With `read`, a reader loads table after table from the catalog meanwhile, until each shows all of
its files, and then plans each once.
"""

import contextlib
import importlib
import itertools
import json
import multiprocessing
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Task:
    """The work of one caller: its number, and where it publishes for how long."""

    url: str
    folder: Path
    number: int
    seconds: float
    files: int

    def paths(self, count: int) -> list[str]:
        """The files of this caller's next commit, which exist afterwards."""
        paths = [self.folder / f"{self.number}-{count}-{n}.parquet" for n in range(self.files)]
        for path in paths:
            path.hardlink_to(self.folder / "one.parquet")
        return list(map(str, paths))


def write_file(folder: Path) -> None:
    """Write the file that is published."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    times = pa.array(range(1_000), pa.int64())
    pq.write_table(pa.table({"moment": times, "number": times}), folder / "one.parquet")


def repeat(task: Task, publish: Callable[[list[str]], None]) -> tuple[int, int]:
    """Publish for the given time; returns files and refused tries."""
    files = refused = 0
    until = time.monotonic() + task.seconds
    for count in itertools.count():
        if time.monotonic() > until:
            return files, refused
        paths = task.paths(count)
        try:
            publish(paths)
            files += len(paths)
        except Exception as error:
            refused += 1
            if refused > 20 and not files:
                raise error
    raise AssertionError("endless")


def _ducklake_connection(task: Task):  # type: ignore[no-untyped-def]
    import duckdb

    connection = duckdb.connect(config={"allow_unsigned_extensions": "true", "threads": 1})
    for name in ("postgres_scanner", "ducklake"):
        package = importlib.import_module(f"duckdb_extension_{name}")
        assert package.__file__ is not None
        (extension,) = Path(package.__file__).parent.rglob("*.duckdb_extension")
        connection.execute(f"LOAD '{extension}'")
    parts = urlsplit(task.url)
    options = {"host": parts.hostname, "port": parts.port, "user": parts.username}
    options |= {key: values[0] for key, values in parse_qs(parts.query).items()}
    options["dbname"] = "ducklake"
    text = " ".join(f"{key}={value}" for key, value in options.items() if value)
    data = task.folder / "lake"
    connection.execute(f"ATTACH 'ducklake:postgres:{text}' AS lake (DATA_PATH '{data}')")
    return connection


def ducklake(task: Task, start: Callable[[], None]) -> tuple[int, int]:
    """DuckLake: ducklake_add_data_files, all files of a commit in one transaction."""
    connection = _ducklake_connection(task)
    table = f"t{task.number}"
    connection.execute(f"CREATE TABLE IF NOT EXISTS lake.{table} (moment BIGINT, number BIGINT)")

    def publish(paths: list[str]) -> None:
        connection.execute("BEGIN")
        try:
            for path in paths:
                connection.execute(f"CALL ducklake_add_data_files('lake', '{table}', '{path}')")
            connection.execute("COMMIT")
        except Exception:
            # A refused commit has ended the transaction already.
            with contextlib.suppress(Exception):
                connection.execute("ROLLBACK")
            raise

    start()
    return repeat(task, publish)


def iceberg(task: Task, start: Callable[[], None]) -> tuple[int, int]:
    """PyIceberg with SqlCatalog: add_files, which is a commit of the table."""
    import pyarrow.parquet as pq
    from pyiceberg.catalog.sql import SqlCatalog

    # The driver of the catalog is psycopg 3; its tables are made by the first caller.
    uri = task.url.replace("postgresql://", "postgresql+psycopg://")
    catalog = SqlCatalog("bench", uri=uri, warehouse=f"file://{task.folder}/warehouse")
    catalog.create_namespace_if_not_exists(f"n{task.number}")
    schema = pq.read_schema(task.folder / "one.parquet")
    table = catalog.create_table_if_not_exists(f"n{task.number}.t", schema)
    start()

    def publish(paths: list[str]) -> None:
        table.add_files([f"file://{path}" for path in paths], check_duplicate_files=False)

    return repeat(task, publish)


def read_ducklake(task: Task):  # type: ignore[no-untyped-def]
    """Return what tells a table's number of files, by the catalog alone and by a plan."""
    connection = _ducklake_connection(task)

    def value(query: str, number: int) -> int:
        return int(connection.execute(query, [f"t{number}"]).fetchone()[0])

    shown = "SELECT file_count FROM ducklake_table_info('lake') WHERE table_name = ?"
    planned = "SELECT count(DISTINCT data_file) FROM ducklake_list_files('lake', ?)"
    return lambda number: value(shown, number), lambda number: value(planned, number)


def read_iceberg(task: Task):  # type: ignore[no-untyped-def]
    """Return what tells a table's number of files, by its metadata and by a plan."""
    from pyiceberg.catalog.sql import SqlCatalog

    uri = task.url.replace("postgresql://", "postgresql+psycopg://")
    catalog = SqlCatalog("bench", uri=uri, warehouse=f"file://{task.folder}/warehouse")

    def shown(number: int) -> int:
        snapshot = catalog.load_table(f"n{number}.t").current_snapshot()
        summary = snapshot.summary if snapshot else None
        return int(summary["total-data-files"] or 0) if summary else 0

    def planned(number: int) -> int:
        files = catalog.load_table(f"n{number}.t").scan().plan_files()
        return len({one.file.file_path for one in files})

    return shown, planned


PEERS = {"ducklake": ducklake, "iceberg": iceberg}
READERS = {"ducklake": read_ducklake, "iceberg": read_iceberg}
PAUSE_SECS = 0.05


def _caller(name: str, task: Task, ready, results) -> None:  # type: ignore[no-untyped-def]
    results.put((task.number, *PEERS[name](task, ready.wait)))


def _reader(name: str, task: Task, tables: int, ready, published, seen) -> None:  # type: ignore[no-untyped-def]
    """Load tables in turn; puts when all showed what was published, and then what plans have."""
    shown, planned = READERS[name](task)
    ready.wait()
    waiting, loads = set(range(tables)), 0
    while waiting:
        for number in sorted(waiting):
            # Negative until its caller has ended.
            expected = published[number]
            if shown(number) == expected:
                waiting.remove(number)
            loads += 1
            time.sleep(PAUSE_SECS)
    seen.put((time.monotonic(), loads))
    assert [planned(number) for number in range(tables)] == list(published)
    seen.put(None)


def main() -> None:
    """Run the callers, each in its own process."""
    name, url, folder, callers, seconds, per_commit, *read = sys.argv[1:]
    of_each = float(seconds), int(per_commit)
    tasks = [Task(url, Path(folder), n, *of_each) for n in range(int(callers))]
    write_file(tasks[0].folder)
    # The first one makes what all share; two at once would refuse each other.
    PEERS[name](Task(url, Path(folder), 0, 0.0, 1), lambda: None)
    context = multiprocessing.get_context("spawn")
    ready, results = context.Barrier(len(tasks) + 1 + len(read)), context.Queue()
    published, seen = context.Array("q", [-1] * len(tasks)), context.Queue()
    processes = [context.Process(target=_caller, args=(name, t, ready, results)) for t in tasks]
    if read:
        arguments = (name, tasks[0], len(tasks), ready, published, seen)
        processes.append(context.Process(target=_reader, args=arguments))
    for process in processes:
        process.start()
    ready.wait(120)
    began = time.monotonic()
    files = refused = loads = 0
    for _ in tasks:
        number, of_this, refused_of_this = results.get(timeout=120 + float(seconds))
        files, refused = files + of_this, refused + refused_of_this
        published[number] = of_this
    ended = time.monotonic()
    if read:
        ended, loads = seen.get(timeout=120)
        seen.get(timeout=120)
    for process in processes:
        process.join()
    print(
        json.dumps({"files": files, "refused": refused, "seconds": ended - began, "loads": loads})
    )


if __name__ == "__main__":
    main()
