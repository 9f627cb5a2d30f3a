"""Denied calls by minute, host and reason; the table is bounded, whatever comes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, select, text

from meta.store.engine.pool import Transaction
from meta.store.engine.row_columns import row_columns
from meta.store.tables.server import denied_calls

# The newest rows that are kept: 69 days of one row a minute, 20 MB.
ROWS_MAX = 100_000
# Rows that go at once: more than one save adds.
_PRUNED_MAX = 2_000
# Rows are added in one order, so that two servers that save at the same time do not deadlock.
_ADD = text("""
    INSERT INTO denied_calls (minute, host, reason, calls)
    SELECT date_trunc('minute', now()), h, r, c
    FROM unnest(cast(:hosts AS text[]), cast(:reasons AS text[]), cast(:calls AS bigint[]))
           AS k (h, r, c) ORDER BY h, r
    ON CONFLICT (minute, host, reason) DO UPDATE SET calls = denied_calls.calls + excluded.calls
""")
_PRUNE = text("""
    DELETE FROM denied_calls WHERE id = ANY(ARRAY(
      SELECT id FROM denied_calls WHERE id <= (
        SELECT id FROM denied_calls ORDER BY id DESC OFFSET :kept LIMIT 1)
      ORDER BY id LIMIT :most))
""")


@dataclass(frozen=True, slots=True)
class DeniedCalls:
    """The calls of a host that were denied in a minute for one reason."""

    id: int
    minute: datetime
    host: str
    reason: str
    calls: int


_ALL: Select[*tuple[Any, ...]] = select(*row_columns(DeniedCalls, denied_calls)).order_by(
    denied_calls.c.id.desc()
)


def add(tx: Transaction, counts: Mapping[tuple[str, str], int]) -> None:
    """Add numbers of calls by host and reason to this minute; the oldest rows go."""
    ordered = sorted(counts.items())
    values = {
        "hosts": [host for (host, _), _ in ordered],
        "reasons": [reason for (_, reason), _ in ordered],
        "calls": [calls for _, calls in ordered],
    }
    tx.execute(_ADD, values)
    tx.execute(_PRUNE, {"kept": ROWS_MAX, "most": _PRUNED_MAX})


def list_newest(
    tx: Transaction, before_id: int, host: str, reason: str, since: datetime | None, limit: int
) -> list[DeniedCalls]:
    """Rows older than `before_id` (0 = from the newest), newest first; "" and None = any."""
    statement = _ALL.limit(limit)
    if before_id:
        statement = statement.where(denied_calls.c.id < before_id)
    if host:
        statement = statement.where(denied_calls.c.host == host)
    if reason:
        statement = statement.where(denied_calls.c.reason == reason)
    if since is not None:
        statement = statement.where(denied_calls.c.minute >= since)
    return [DeniedCalls(*row) for row in tx.execute(statement)]
