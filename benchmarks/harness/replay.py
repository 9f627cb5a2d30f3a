"""Replays the statements of registrations with psycopg alone."""

import time
from collections.abc import Mapping, Sequence
from statistics import median

import psycopg
from sqlalchemy import event

from benchmarks.harness import registrations
from meta.access import NO_CALLER
from meta.services.registration.registration_checks import checked_merge
from meta.store.engine.pool import Database, DatabaseSettings
from meta.store.registration import registrations as store
from segments.location import StoreLocation, Stores

_Statement = tuple[bytes, Mapping[str, object]]


def registrations_ms(database_url: str, count: int) -> float:
    """The median milliseconds of the transaction of a registration, run by psycopg."""
    transactions = _recorded(database_url, count)
    times = []
    with psycopg.connect(database_url) as connection:
        for statements in transactions:
            began = time.perf_counter()
            for statement, values in statements:
                connection.execute(statement, values).fetchall()
            connection.commit()
            times.append(time.perf_counter() - began)
    return 1e3 * median(times)


def _recorded(database_url: str, count: int) -> Sequence[Sequence[_Statement]]:
    """The statements of registrations of one stream each, none of which is committed."""
    made = registrations.entries(database_url, count, 10)
    database = Database(DatabaseSettings(database_url, pool_size=2))
    location = StoreLocation.from_url("file:///nonexistent/bench")
    recorded = []
    for entry in made:
        merge = checked_merge(registrations.request(entry, 0), Stores(location), NO_CALLER)
        statements: list[_Statement] = []

        def catch(
            _c: object, _k: object, sql: str, values: Mapping[str, object], *_: object
        ) -> None:
            statements.append((sql.encode(), values))  # noqa: B023 (called within the turn)

        with database.engine.connect() as tx:
            event.listen(tx, "before_cursor_execute", catch)
            store.register_batch(tx, [merge])
            tx.rollback()
        recorded.append(statements)
    database.close()
    return recorded
