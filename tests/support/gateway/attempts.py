"""Mistakes of users, and failures around them, as statements of each engine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from segplane.cli.iceberg_settings import CatalogAddress
from tests.support.gateway.engines import Engine, run_script, statements_of
from tests.support.gateway.questions import TRINO, Dialect
from tests.support.gateway.trino import TrinoServer

# A catalog with a token that the gateway does not know.
STRANGER, WRONG_TOKEN = "stranger", "not-the-token"


@dataclass(frozen=True, slots=True)
class Attempt:
    """Something that is tried: of a table, in a catalog, after what a test does by this name."""

    name: str
    table: str = "web"
    catalog: str = "segplane"
    writes: bool = False
    # DuckDB shows a transaction one state of a table.
    begins: bool = False
    ends: bool = False


ATTEMPTS = (
    Attempt("unknown table", "none"),
    Attempt("expired version", "web@{version}"),
    Attempt("wrong token", catalog=STRANGER),
    Attempt("write", writes=True),
    Attempt("read", begins=True),
    Attempt("stale table", ends=True),
    Attempt("read again"),
    Attempt("store away", "other"),
    Attempt("meta away", "third"),
)


def sql_of(attempt: Attempt, dialect: Dialect, version: int) -> str:
    """Return an attempt as a statement."""
    place = dialect.table("TABLE", 0)
    for named in ("TABLE@0", "TABLE__v0"):
        place = place.replace(named, attempt.table.format(version=version))
    if dialect is TRINO:
        place = place.replace("@", "__v")
    place = place.replace("segplane.", f"{attempt.catalog}.", 1)
    if attempt.writes:
        return f"INSERT INTO {place} SELECT * FROM {place}"  # noqa: S608
    # Not a count alone, which engines know without a file.
    return f"SELECT count(*) AS n, max(body) AS body FROM {place}"  # noqa: S608


def try_all(
    engine: Engine, catalog: CatalogAddress, version: int, steps: str
) -> dict[str, dict[str, Any]]:
    """Have an engine try everything; returns the error of each attempt, or the number of rows."""
    asked = []
    for attempt in ATTEMPTS:
        sql = [sql_of(attempt, engine.dialect, version)]
        if engine.kind == "duckdb":
            if attempt.begins:
                sql = ["BEGIN", *sql]
            if attempt.name == "read again":
                sql = ["ROLLBACK", *sql]
        if attempt.catalog == STRANGER:
            sql = [*_opening(engine, catalog), *sql]
        table = f"default.{attempt.table.format(version=version)}"
        asked.append(
            {
                "name": attempt.name,
                "sql": sql,
                "table": table,
                "catalog": attempt.catalog,
                "writes": attempt.writes,
                "ends": attempt.ends,
            }
        )
    properties = engine.properties(catalog)
    if engine.kind == "spark":
        own = {name: value for name, value in properties.items() if ".segplane" in name}
        properties |= {name.replace("segplane", STRANGER, 1): own[name] for name in own}
        properties[f"spark.sql.catalog.{STRANGER}.token"] = WRONG_TOKEN
        # A table is kept for longer than the test needs from one step to the next.
        properties["spark.sql.catalog.segplane.cache.expiration-interval-ms"] = "600000"
    request = {
        "attempts": asked,
        "steps": steps,
        "statements": statements_of(engine.kind, catalog),
        "properties": properties,
        "wrong_token": WRONG_TOKEN,
    }
    return run_script(engine, request)


def try_trino(
    trino: TrinoServer, version: int, begin: Callable[[str], object]
) -> dict[str, dict[str, Any]]:
    """Have Trino try everything."""
    tried: dict[str, dict[str, Any]] = {}
    for attempt in ATTEMPTS:
        begin(attempt.name)
        try:
            rows, _ = trino.query(sql_of(attempt, TRINO, version))
            tried[attempt.name] = {"rows": str(rows), "error": ""}
        except AssertionError as error:
            tried[attempt.name] = {"rows": "", "error": str(error)}
    return tried


def _opening(engine: Engine, catalog: CatalogAddress) -> Sequence[str]:
    """Return what opens the catalog with the wrong token in an engine of SQL."""
    return [
        one.replace("segplane", STRANGER, 1)
        for one in statements_of(engine.kind, catalog, WRONG_TOKEN)
        if one.startswith(("ATTACH", "CREATE DATABASE"))
    ]
