"""Rows of the ledger: added to on the day of the database's clock, and read by months.

ReportCosts, samples of stored bytes --> costs (a day) --(62 days later)--> cost_months
"""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from datetime import date
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import TextClause, text

from meta.store.catalog import shown_names
from meta.store.engine import pg_arrays, scope
from meta.store.engine.pool import Transaction

# The id of what is of no dataset.
NO_DATASET = UUID(int=0)
# Numbers of CostKind: stored bytes, and those that nurseries and merges wrote.
STORED, OF_NURSERIES, MERGED = 1, 3, 4
# Kinds that a dataset can have rows of in a day.
KINDS_MAX = 8
# A row stays at it, so that no report can make a sum too large for its column.
TOTAL_MAX = 2**62


@dataclass(frozen=True, slots=True)
class Amounts:
    """Bytes of a kind of work, its requests to the store, and microseconds of CPU."""

    bytes: int = 0
    read_requests: int = 0
    write_requests: int = 0
    cpu_micros: int = 0

    def plus(self, other: "Amounts") -> "Amounts":
        """Return the sum."""
        return Amounts(*map(sum, zip(astuple(self), astuple(other), strict=True)))


class CostKey(NamedTuple):
    """A dataset and a number of CostKind."""

    dataset_id: UUID
    kind: int


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """Amounts of a dataset and kind in a month, or in a day of it; `name` "" = not known."""

    tenant_key: int
    dataset_id: UUID
    name: str
    day: date
    kind: int
    amounts: Amounts


class DatasetPosition(NamedTuple):
    """A dataset in the order of the ledger."""

    tenant_key: int
    dataset_id: UUID


FIRST = DatasetPosition(-1, NO_DATASET)
_NUMBERS = ("bytes", "read_requests", "write_requests", "cpu_micros")
# Rows are locked in the order of their key, so that two calls wait and do not deadlock. A dataset
# without a row any more counts as none.
ADDED = ", ".join(
    f"{name} = least(c.{name}, {TOTAL_MAX} - excluded.{name}) + excluded.{name}"
    for name in _NUMBERS
)
_ADD = text(f"""
    INSERT INTO costs AS c (day, tenant_key, dataset_id, kind, {", ".join(_NUMBERS)})
    SELECT (now() AT TIME ZONE 'UTC')::date, coalesce(d.tenant_key, 0),
      coalesce(d.id, '00000000-0000-0000-0000-000000000000'), n.kind,
      {", ".join(f"sum(n.{name})::bigint" for name in _NUMBERS)}
    FROM unnest(cast(:datasets AS uuid[]), cast(:kinds AS smallint[]), cast(:bytes AS bigint[]),
                cast(:read_requests AS bigint[]), cast(:write_requests AS bigint[]),
                cast(:cpu_micros AS bigint[])) AS n (dataset_id, kind, {", ".join(_NUMBERS)})
      LEFT JOIN datasets d ON d.id = n.dataset_id
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (day, tenant_key, dataset_id, kind) DO UPDATE SET {ADDED}
""")  # noqa: S608
_SUMS = ", ".join(f"least(sum({name}), {TOTAL_MAX})::bigint" for name in _NUMBERS)
# Each day and the month give as many rows as a page can take of them.
_PAGE = """
    WITH listed AS MATERIALIZED (
      SELECT c.* FROM generate_series(cast(:first AS date), cast(:last AS date), '1 day') AS d (day)
        CROSS JOIN LATERAL (
          SELECT * FROM costs WHERE day = d.day::date AND {of_costs}
          ORDER BY tenant_key, dataset_id, kind LIMIT :rows) c
      UNION ALL
      (SELECT * FROM cost_months WHERE month = :first AND {of_costs}
       ORDER BY tenant_key, dataset_id, kind LIMIT :rows)
    ), page AS MATERIALIZED (
      SELECT DISTINCT tenant_key, dataset_id FROM listed ORDER BY 1, 2 LIMIT :most
    )
    SELECT p.tenant_key, p.dataset_id,
      coalesce((SELECT {name} FROM datasets d WHERE d.id = p.dataset_id AND {is_reached}), ''),
      {day} AS day, l.kind,
      {sums}
    FROM page p JOIN listed l ON l.tenant_key = p.tenant_key AND l.dataset_id = p.dataset_id
    GROUP BY p.tenant_key, p.dataset_id, {day}, l.kind
    ORDER BY p.tenant_key, p.dataset_id, day, l.kind
"""


def _page(of_costs: str, day: str) -> TextClause:
    reached = f"{of_costs} AND (cast(:tenant AS integer) IS NULL OR tenant_key = :tenant)"
    name, is_reached = shown_names.of("d"), scope.reaches("d")
    return scope.statement(
        _PAGE.format(of_costs=reached, day=day, name=name, is_reached=is_reached, sums=_SUMS)
    )


_BEHIND = "(tenant_key, dataset_id) > (:tenant_key, :dataset_id)"
_ALL = _page(_BEHIND, "cast(:first AS date)")
# The tenant of what is of no dataset is that of the position.
_OF_DATASET = """
    tenant_key = coalesce((SELECT d.tenant_key FROM datasets d WHERE d.id = :dataset_id),
                          cast(:tenant_key AS integer)) AND dataset_id = :dataset_id
"""
_ONE = _page(_OF_DATASET, "cast(:first AS date)")
_ONE_BY_DAY = _page(_OF_DATASET, "l.day")


def add(tx: Transaction, amounts: dict[CostKey, Amounts]) -> None:
    """Add amounts to the rows of today."""
    columns = list(zip(*map(astuple, amounts.values()), strict=True))
    values = {
        name: pg_arrays.numbers(column) for name, column in zip(_NUMBERS, columns, strict=True)
    }
    tx.execute(
        _ADD,
        values
        | {
            "datasets": pg_arrays.uuids(key.dataset_id for key in amounts),
            "kinds": pg_arrays.numbers(key.kind for key in amounts),
        },
    )


def page(
    tx: Transaction, month: date, last: date, after: DatasetPosition, most: int
) -> Sequence[LedgerRow]:
    """Return the rows of a month, from its first day to its last, of the datasets behind one."""
    return list(_rows(tx, _ALL, month, last, after, most))


def of_dataset(
    tx: Transaction, month: date, last: date, dataset: DatasetPosition, *, by_day: bool
) -> Sequence[LedgerRow]:
    """Return the rows of one dataset in a month, or those of its days.

    Days that have become a month are together its first day.
    """
    return list(_rows(tx, _ONE_BY_DAY if by_day else _ONE, month, last, dataset, 1))


def _rows(
    tx: Transaction,
    statement: TextClause,
    month: date,
    last: date,
    position: DatasetPosition,
    most: int,
) -> Iterator[LedgerRow]:
    values = {"first": month, "last": last, "most": most, "rows": most * KINDS_MAX}
    for row in tx.execute(statement, values | position._asdict()):
        tenant_key, dataset_id, name, day, kind, *numbers = row
        yield LedgerRow(tenant_key, dataset_id, name, day, kind, Amounts(*numbers))
