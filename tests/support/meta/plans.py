"""Rows that statements read, as EXPLAIN ANALYZE counts them."""

from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import event

from meta.store.engine.pool import Database, Transaction


def executions_max(database: Database, work: Callable[[Transaction], object]) -> int:
    """Most executions of one node of a plan, in all statements of `work`; nothing of it is kept."""
    plans = _plans(database, work, is_small=False)
    return max(int(node["Actual Loops"]) for plan in plans for node in _nodes(plan))


def rows_read(
    database: Database, work: Callable[[Transaction], object], *, is_small: bool = False
) -> int:
    """Count the rows that all statements of `work` take from tables; nothing of it is kept.

    `is_small` says that the tables are smaller than they will be: without it the planner would read
    them whole, because that is cheaper, where it takes an index later.
    """
    return sum(rows_of_statements(database, work, is_small=is_small))


def rows_of_statements(
    database: Database, work: Callable[[Transaction], object], *, is_small: bool = False
) -> list[int]:
    """Like `rows_read`, for each statement."""
    plans = _plans(database, work, is_small=is_small)
    return [sum(map(_own_rows, _nodes(plan))) for plan in plans]


def probes_made(database: Database, work: Callable[[Transaction], object]) -> int:
    """Count how often the statements of `work` look into a table or an index of it."""
    scans = (node for plan in _plans(database, work, is_small=True) for node in _nodes(plan))
    return sum(int(node["Actual Loops"]) for node in scans if "Relation Name" in node)


def _plans(
    database: Database, work: Callable[[Transaction], object], *, is_small: bool
) -> list[dict[str, Any]]:
    statements = _statements(database, work)
    plans = []
    with database.engine.connect() as tx:
        database.take_role(tx)
        tx.exec_driver_sql(f"SET LOCAL enable_seqscan = {'off' if is_small else 'on'}")
        for statement, parameters in statements:
            if statement.startswith("SET "):
                tx.exec_driver_sql(statement, parameters)
                continue
            explain = "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) " + statement
            (answer,) = tx.exec_driver_sql(explain, parameters).scalar_one()
            plans.append(answer["Plan"])
        tx.rollback()
    return plans


def _statements(database: Database, work: Callable[[Transaction], object]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []

    def note(
        _tx: object, _cursor: object, statement: str, parameters: Any, _context: object, many: bool
    ) -> None:
        found.extend((statement, own) for own in (parameters if many else [parameters]))

    with database.engine.connect() as tx:
        database.take_role(tx)
        event.listen(tx, "before_cursor_execute", note)
        work(tx)
        tx.rollback()
    return found


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


def _own_rows(node: dict[str, Any]) -> int:
    if "Relation Name" not in node or not node["Node Type"].endswith("Scan"):
        return 0
    removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return int((node["Actual Rows"] + removed) * node["Actual Loops"])
