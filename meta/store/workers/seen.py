"""Workers by when they asked for their configuration; the table is bounded, whatever comes."""

from dataclasses import dataclass

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.versions.clock import ago

# A worker's name holds a part that is new with every process, so names come and go.
WORKERS_MAX = 10_000
EXPIRY_DAYS = 30
# One write a minute of each worker, however often it asks.
NOTED_EVERY_SECS = 60
_IS_RECENT = f"last_seen_at > now() - interval '{EXPIRY_DAYS} days'"
_IS_NOTED = text(
    "SELECT EXISTS (SELECT FROM workers WHERE id = :id"  # noqa: S608
    f" AND last_seen_at > now() - interval '{NOTED_EVERY_SECS} seconds')"
)
_NOTE_AGAIN = text("UPDATE workers SET last_seen_at = greatest(last_seen_at, now()) WHERE id = :id")
_NOTE_NEW = text("""
    INSERT INTO workers (id) VALUES (:id)
    ON CONFLICT (id) DO UPDATE SET last_seen_at = greatest(workers.last_seen_at, now())
""")
# Two servers that prune at the same time do not wait for one another.
_PRUNE = text(f"""
    DELETE FROM workers WHERE id = ANY(ARRAY(
      SELECT id FROM workers
      WHERE NOT {_IS_RECENT}
         OR id IN (SELECT id FROM workers ORDER BY last_seen_at DESC, id OFFSET :kept)
      FOR UPDATE SKIP LOCKED))
""")  # noqa: S608
_PAGE = text(f"""
    SELECT id, (extract(epoch FROM first_seen_at) * 1000000)::bigint * 1000,
           (extract(epoch FROM last_seen_at) * 1000000)::bigint * 1000
    FROM workers WHERE id > :after AND {_IS_RECENT} ORDER BY id LIMIT :limit
""")  # noqa: S608
_RECENT = text(f"""
    SELECT id FROM workers WHERE starts_with(id, :prefix) AND last_seen_at > {ago(":secs")}
    ORDER BY last_seen_at DESC LIMIT :most
""")  # noqa: S608


@dataclass(frozen=True, slots=True)
class SeenWorker:
    """A worker and when it asked first and last, in nanoseconds."""

    id: str
    first_seen_nanos: int
    last_seen_nanos: int


def is_noted(tx: Transaction, worker_id: str) -> bool:
    """True if the worker was noted so lately that nothing need be written."""
    return bool(tx.execute(_IS_NOTED, {"id": worker_id}).scalar_one())


def note(tx: Transaction, worker_id: str) -> None:
    """Note that a worker asked now; for a new one those seen longest ago go."""
    if tx.execute(_NOTE_AGAIN, {"id": worker_id}).rowcount == 0:
        tx.execute(_PRUNE, {"kept": WORKERS_MAX - 1})
        tx.execute(_NOTE_NEW, {"id": worker_id})


def list_page(tx: Transaction, after_id: str, limit: int) -> list[SeenWorker]:
    """Workers behind `after_id` by id, without those that have not asked for a long time."""
    return [SeenWorker(*row) for row in tx.execute(_PAGE, {"after": after_id, "limit": limit})]


def recent_ids(tx: Transaction, kind: str, secs: float, most: int) -> list[str]:
    """Ids of workers of a kind that asked in the last seconds, the last ones first."""
    values = {"prefix": f"{kind}/", "secs": secs, "most": most}
    return list(tx.execute(_RECENT, values).scalars())
