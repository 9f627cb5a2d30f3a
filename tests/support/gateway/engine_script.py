"""Asks an engine some questions, with the Python that has the engine installed.

`python engine_script.py ENGINE` reads a request from standard input: the catalog, the table and the
questions. It prints FOUND and the answers as JSON: of each question its rows, a mapping of columns
to plain values each, and what the engine says that it read. Imports nothing of the project.
"""

import datetime
import json
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

Rows = list[dict[str, Any]]
Answer = tuple[str, Rows, dict[str, int]]
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)  # noqa: UP017


def plain(value: Any) -> Any:
    """A value that all engines give alike; an empty list is null, which ClickHouse has not."""
    if isinstance(value, datetime.datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=_EPOCH.tzinfo)
        return (moment - _EPOCH) // datetime.timedelta(microseconds=1)
    if isinstance(value, Decimal):
        return int(value)
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value] or None
    return value


def plain_rows(rows: Any) -> Rows:
    return [{name: plain(value) for name, value in row.items()} for row in rows]


def questions_of(request: Any) -> Iterator[Any]:
    """Yield questions; before each tell who counts reads, if somebody does."""
    for question in request.get("questions") or request["attempts"]:
        if "steps" in request:
            name = urllib.parse.quote(question["name"])
            urllib.request.urlopen(f"{request['steps']}/{name}", timeout=120).close()
        yield question


def ask_duckdb(request: Any) -> Iterator[Answer]:
    with _open_duckdb(request) as database:
        # What one question read is read again for the next.
        database.execute("SET enable_external_file_cache = false")
        for question in questions_of(request):
            yield question["name"], _run_duckdb(database, question["sql"]), {}


def _open_duckdb(request: Any) -> Any:
    import duckdb

    database = duckdb.connect()
    for extension in ("avro", "httpfs", "iceberg"):
        _load_extension(database, extension)
    database.execute("SET TimeZone = 'UTC'")
    for statement in request["statements"]:
        database.execute(statement)
    return database


def _load_extension(database: Any, name: str) -> None:
    # Of the package, because the registry of extensions may be out of reach.
    from importlib.metadata import files

    found = files(f"duckdb-extension-{name}") or []
    (path,) = [one.locate() for one in found if one.name == f"{name}.duckdb_extension"]
    database.execute(f"LOAD '{path}'")


def _run_duckdb(database: Any, sql: str) -> Rows:
    cursor = database.execute(sql)
    names = [one[0] for one in cursor.description]
    return plain_rows(dict(zip(names, row)) for row in cursor.fetchall())  # noqa: B905


def ask_clickhouse(request: Any) -> Iterator[Answer]:
    session = _open_clickhouse(request)
    for question in questions_of(request):
        table = session.query(question["sql"], "ArrowTable")
        yield question["name"], plain_rows(table.to_pylist()), {}


def _open_clickhouse(request: Any) -> Any:
    from chdb.session import Session

    session = Session()
    for statement in request["statements"]:
        session.query(statement)
    return session


def ask_daft(request: Any) -> Iterator[Answer]:
    import daft
    import duckdb
    from pyiceberg.catalog import load_catalog

    catalog = load_catalog("segplane", **request["properties"])
    table = catalog.load_table(request["table"])
    for question in questions_of(request):
        frame = daft.read_iceberg(table)
        told = question["conditions"]
        if told["signal"]:
            frame = frame.where(daft.col("signal") == told["signal"])
        if told["equal"]:
            name, value = told["equal"]
            frame = frame.where(daft.col(name) == value)
        if told["span"]:
            low, high = (daft.lit(datetime.datetime.fromisoformat(one)) for one in told["span"])
            frame = frame.where((daft.col("timestamp") >= low) & (daft.col("timestamp") < high))
        with duckdb.connect() as database:
            database.register("t", frame.to_arrow())
            database.execute("SET TimeZone = 'UTC'")
            yield question["name"], _run_duckdb(database, question["sql"]), {}


def ask_spark(request: Any) -> Iterator[Answer]:
    session = _open_spark(request)
    for question in questions_of(request):
        frame = session.sql(question["sql"])
        rows = plain_rows(row.asDict(recursive=True) for row in frame.collect())
        yield question["name"], rows, _spark_metrics(frame)
    session.stop()


def _open_spark(request: Any) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    for name, value in request["properties"].items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _spark_metrics(frame: Any) -> dict[str, int]:
    shown: dict[str, int] = {}
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    for place in range(leaves.size()):
        metrics = leaves.apply(place).metrics()
        for name in ("resultDataFiles", "skippedDataFiles", "skippedDataManifests"):
            if metrics.contains(name):
                shown[name] = shown.get(name, 0) + metrics.apply(name).value()
    return shown


ASK: dict[str, Callable[[Any], Iterator[Answer]]] = {
    "duckdb": ask_duckdb,
    "clickhouse": ask_clickhouse,
    "daft": ask_daft,
    "spark": ask_spark,
}


def try_duckdb(request: Any) -> Callable[[Any], Any]:
    database = _open_duckdb(request)
    return lambda attempt: [database.execute(sql).fetchall() for sql in attempt["sql"]]


def try_clickhouse(request: Any) -> Callable[[Any], Any]:
    session = _open_clickhouse(request)
    return lambda attempt: [str(session.query(sql)) for sql in attempt["sql"]]


def try_spark(request: Any) -> Callable[[Any], Any]:
    session = _open_spark(request)
    return lambda attempt: [session.sql(sql).collect() for sql in attempt["sql"]]


def try_daft(request: Any) -> Callable[[Any], Any]:
    import daft
    from pyiceberg.catalog import load_catalog

    kept = {}

    def attempt_it(attempt: Any) -> Any:
        properties = dict(request["properties"])
        if attempt["catalog"] != "segplane":
            properties["token"] = request["wrong_token"]
        if not attempt["ends"]:
            kept["table"] = load_catalog("segplane", **properties).load_table(attempt["table"])
        frame = daft.read_iceberg(kept["table"])
        if attempt["writes"]:
            return frame.write_iceberg(kept["table"])
        return frame.select("body").to_arrow().num_rows

    return attempt_it


TRY: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "duckdb": try_duckdb,
    "clickhouse": try_clickhouse,
    "daft": try_daft,
    "spark": try_spark,
}


def try_all(request: Any) -> Iterator[tuple[str, str, str]]:
    """Try everything that may fail; yields names, what came, and the error or ""."""
    run = TRY[sys.argv[1]](request)
    for attempt in questions_of(request):
        try:
            yield attempt["name"], str(run(attempt))[:200], ""
        except Exception as error:  # noqa: BLE001 - whatever the engine shows its user
            yield attempt["name"], "", f"{type(error).__name__}: {error}"


def main() -> None:
    answers = {}
    request = json.load(sys.stdin)
    if "attempts" in request:
        tried = {name: {"rows": rows, "error": error} for name, rows, error in try_all(request)}
        print("FOUND" + json.dumps(tried), flush=True)
        return
    for name, rows, read in ASK[sys.argv[1]](request):
        answers[name] = {"rows": rows, "read": read}
    print("FOUND" + json.dumps(answers), flush=True)


if __name__ == "__main__":
    main()
