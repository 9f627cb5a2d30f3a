"""Quotas of creators: live datasets, and records a month of all datasets that a subject created.

Datasets of which no creator is known, such as those of release 0.1.0, count for nobody.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from uuid import UUID

from sqlalchemy import text

from meta.errors import QuotaExceeded
from meta.store.access import audit
from meta.store.engine.pool import Transaction

# The creator whose quotas are the default of all.
DEFAULT = ""
QUOTAS_MAX = 1_000
# Of an advisory lock.
_LOCK_KEY = 7_310_579_241_902_137


@dataclass(frozen=True, slots=True)
class CreatorQuota:
    """The quotas of a creator: -1 = unlimited, 0 = the default."""

    creator: str
    datasets: int = 0
    records_per_month: int = 0


@dataclass(frozen=True, slots=True)
class CreatorUsage:
    """Datasets and records of a creator, and the limits in force; -1 = unlimited."""

    quota: CreatorQuota
    live_datasets: int
    datasets_limit: int
    records: int
    records_limit: int


def in_force(column: str, creator: str, default: str = "-1") -> str:
    """The SQL of a limit that is in force for the creator of a row."""
    first, second = (
        f"nullif((SELECT {column} FROM creator_quotas WHERE creator = {name}), 0)"  # noqa: S608
        for name in (creator, f"'{DEFAULT}'")
    )
    return f"coalesce({first}, {second}, {default})"


_LIVE = """
    SELECT count(*) FROM catalog_authors a JOIN datasets d ON d.id = a.entry_id
    WHERE a.created_by = {creator} AND d.deleted_at IS NULL
"""
_MOST = "cast(:most AS bigint)"
_CHECK = text(f"""
    SELECT own.created_by AS creator, l.most FROM catalog_authors own
    CROSS JOIN LATERAL (SELECT {in_force("datasets", "own.created_by", _MOST)} AS most) l
    WHERE own.entry_id = :dataset AND own.created_by IS NOT NULL AND l.most >= 0
      AND l.most < ({_LIVE.format(creator="own.created_by")})
""")  # noqa: S608
# Of deleted datasets too, so that nobody gets more by deleting them.
_RECORDS = text("""
    SELECT a.created_by, sum(u.records)::bigint FROM catalog_authors a
    JOIN dataset_usage u ON u.dataset_id = a.entry_id
      AND u.month = to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM')
    WHERE a.created_by = ANY(:creators) GROUP BY a.created_by
""")
_LIST = text(f"""
    SELECT s.creator, coalesce(q.datasets, 0), coalesce(q.records_per_month, 0),
           ({_LIVE.format(creator="s.creator")}), {in_force("datasets", "s.creator", _MOST)},
           {in_force("records_per_month", "s.creator")}
    FROM (SELECT unnest(cast(:creators AS text[])) AS creator) s
    LEFT JOIN creator_quotas q ON q.creator = s.creator ORDER BY s.creator
""")  # noqa: S608
_ALL = text("SELECT creator FROM creator_quotas ORDER BY creator")
_FIND = text("SELECT datasets, records_per_month FROM creator_quotas WHERE creator = :creator")
_TAKE_TURNS = text("SELECT pg_advisory_xact_lock(:key)")
_COUNT = text("SELECT count(*) FROM creator_quotas")
_REMOVE = text("DELETE FROM creator_quotas WHERE creator = :creator")
_SET = text("""
    INSERT INTO creator_quotas (creator, datasets, records_per_month)
    VALUES (:creator, :datasets, :records_per_month) ON CONFLICT (creator)
    DO UPDATE SET datasets = excluded.datasets, records_per_month = excluded.records_per_month
""")


def check_datasets(tx: Transaction, dataset_id: UUID, default: int) -> None:
    """Raise QuotaExceeded if the creator of a dataset has more than its quota; 0 = no `default`.

    Behind the lock of the counter of versions, which creations take one after the other.
    """
    row = tx.execute(_CHECK, {"dataset": dataset_id, "most": default or -1}).one_or_none()
    if row is not None:
        raise QuotaExceeded(
            f"{row.creator!r} has created {row.most} datasets already, the most of this creator"
            " (`segplane access quotas`, META_DATASETS_PER_CREATOR_MAX)",
            limit=row.most,
        )


def read_records(tx: Transaction, creators: Collection[str]) -> dict[str, int]:
    """The records of creators in this month; 0 for those that are missing."""
    rows = tx.execute(_RECORDS, {"creators": list(creators)})
    return {row[0]: row[1] for row in rows}


def list_usage(tx: Transaction, creator: str | None, default: int) -> list[CreatorUsage]:
    """The creators with quotas, or one, with what they have; 0 = no `default` of datasets."""
    creators = list(tx.execute(_ALL).scalars()) if creator is None else [creator]
    records = read_records(tx, creators)
    rows = tx.execute(_LIST, {"creators": creators, "most": default or -1})
    return [
        CreatorUsage(CreatorQuota(*row[:3]), row[3], row[4], records.get(row[0], 0), row[5])
        for row in rows
    ]


def change(tx: Transaction, creator: str, values: Mapping[str, int]) -> None:
    """Set quotas of a creator by the names of CreatorQuota. Raises QuotaExceeded."""
    tx.execute(_TAKE_TURNS, {"key": _LOCK_KEY})
    stored = tx.execute(_FIND, {"creator": creator}).one_or_none()
    before = CreatorQuota(creator, *(stored or ()))
    after = CreatorQuota(**{**asdict(before), **values})
    if after == before:
        return
    if stored is None and tx.execute(_COUNT).scalar_one() >= QUOTAS_MAX:
        raise QuotaExceeded(f"{QUOTAS_MAX} creators have quotas", limit=QUOTAS_MAX)
    is_default = after == CreatorQuota(creator)
    tx.execute(_REMOVE if is_default else _SET, asdict(after))
    audit.note(tx, "SetCreatorQuota", creator or "default", audit.states(before, after))
