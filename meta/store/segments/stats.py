"""Maintained counters per dataset, for GetJanitorStats and GetDatasetNumbers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from operator import add as add_numbers
from typing import NamedTuple

from sqlalchemy import text

from meta.store.engine import pg_arrays, scope
from meta.store.engine.pool import Transaction

INT64_MAX = 2**63 - 1
# Tiers of compressed size: tier k begins at 4^(k-1) MiB; the last one reaches beyond any size.
TIER_STARTS = tuple(4**k * 2**20 for k in range(22))


class Change(NamedTuple):
    """Increments of a dataset's counters; negative subtracts. Sizes in bytes."""

    dataset_key: int
    live_segments: int = 0
    live_size_bytes: int = 0
    live_compressed_size_bytes: int = 0
    all_segments: int = 0
    open_tasks: int = 0
    live_records: int = 0


@dataclass(frozen=True, slots=True)
class DatasetTotals:
    """The counters of one dataset or the sum over all live ones; sizes in bytes.

    `live_records` are right only where they were counted once (`recounts`).
    """

    live_segments: int
    live_size_bytes: int
    live_compressed_size_bytes: int
    all_segments: int
    open_tasks: int
    live_records: int


# The sum of bigint is numeric: it may exceed the int64 of the reply.
_SUMS = ", ".join(
    f"least(coalesce(sum(k.{field.name}), 0), {INT64_MAX})::bigint"
    for field in fields(DatasetTotals)
)
_READ_ONE = text(f"SELECT {_SUMS} FROM dataset_stats k WHERE k.dataset_key = :key")  # noqa: S608
_READ_ALL = scope.statement(f"""
    SELECT {_SUMS} FROM dataset_stats k JOIN datasets d ON d.key = k.dataset_key
    WHERE d.deleted_at IS NULL AND {scope.reaches("d")}
      AND (cast(:visible AS uuid[]) IS NULL OR d.id = ANY(cast(:visible AS uuid[])))
""")  # noqa: S608
# Rows are locked in the order of their keys, so that two calls wait and do not deadlock.
ADD = """
    UPDATE dataset_stats s SET
      live_segments = s.live_segments + k.live,
      live_size_bytes = s.live_size_bytes + k.size,
      live_compressed_size_bytes = s.live_compressed_size_bytes + k.compressed,
      all_segments = s.all_segments + k.every,
      open_tasks = s.open_tasks + k.tasks,
      live_records = s.live_records + k.records
    FROM (
      SELECT c.* FROM {first} unnest(
          cast(:stat_keys AS integer[]), cast(:stat_live AS bigint[]), cast(:stat_size AS bigint[]),
          cast(:stat_compressed AS bigint[]), cast(:stat_every AS bigint[]),
          cast(:stat_tasks AS bigint[]), cast(:stat_records AS bigint[]))
          AS c (dataset_key, live, size, compressed, every, tasks, records)
        JOIN dataset_stats o ON o.dataset_key = c.dataset_key
      ORDER BY o.dataset_key FOR NO KEY UPDATE OF o
    ) k
    WHERE s.dataset_key = k.dataset_key
"""
_ADD = text(ADD.format(first=""))
_NUMBERS = (
    "stat_live",
    "stat_size",
    "stat_compressed",
    "stat_every",
    "stat_tasks",
    "stat_records",
)
# The parameters of ADD if nothing changes.
NO_COLUMNS: Mapping[str, object] = dict.fromkeys(("stat_keys", *_NUMBERS), "{}")


def add(tx: Transaction, changes: Iterable[Change]) -> None:
    """Apply changes, summed per dataset.

    Call it last, after the version if one is drawn: a call that holds these rows must not wait.
    """
    values = columns(changes)
    if values is not None:
        tx.execute(_ADD, values)


def columns(changes: Iterable[Change]) -> dict[str, object] | None:
    """The parameters of ADD; None = there is nothing to add."""
    sums: dict[int, list[int]] = {}
    for change in changes:
        key, *values = change
        total = sums.get(key)
        sums[key] = values if total is None else list(map(add_numbers, total, values))
    if not sums:
        return None
    totals = zip(*sums.values(), strict=True)
    columns = zip(_NUMBERS, totals, strict=True)
    numbers = {name: pg_arrays.numbers(column) for name, column in columns}
    return {"stat_keys": pg_arrays.numbers(sums), **numbers}


def read(tx: Transaction, dataset_key: int | None) -> DatasetTotals:
    """The counters of one dataset; None = of all live ones that the caller may see."""
    if dataset_key is not None:
        return DatasetTotals(*tx.execute(_READ_ONE, {"key": dataset_key}).one())
    return DatasetTotals(*tx.execute(_READ_ALL, {"visible": scope.visible_ids()}).one())
