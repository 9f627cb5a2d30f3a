"""Metas that serve the database, and the least release that may; the table is bounded."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Database, Transaction

# Every start of a process takes a row, so rows come and go.
SERVERS_MAX = 1_000
EXPIRY_DAYS = 30
# Two servers that prune at the same time do not wait for one another.
_PRUNE = text(f"""
    DELETE FROM meta_servers WHERE id = ANY(ARRAY(
      SELECT id FROM meta_servers
      WHERE seen_at < now() - interval '{EXPIRY_DAYS} days'
         OR id IN (SELECT id FROM meta_servers ORDER BY seen_at DESC, id OFFSET :kept)
      FOR UPDATE SKIP LOCKED))
""")  # noqa: S608
_NOTE = text("""
    WITH noted AS (
      INSERT INTO meta_servers (id, host, release) VALUES (:id, :host, :release)
      ON CONFLICT (id) DO UPDATE SET seen_at = greatest(meta_servers.seen_at, now())
    )
    SELECT coalesce(least_release, '') FROM meta_state
""")
_LEAST_RELEASE = text("SELECT coalesce(least_release, '') FROM meta_state")


@dataclass(frozen=True, slots=True)
class MetaServer:
    """One process of meta: a random id for each start, its host and its release."""

    id: UUID
    host: str
    release: str


def begin(tx: Transaction, server: MetaServer) -> str:
    """Remove the rows that are no longer kept, note a server, return the least release or ""."""
    tx.execute(_PRUNE, {"kept": SERVERS_MAX - 1})
    return note(tx, server)


def note(tx: Transaction, server: MetaServer) -> str:
    """Note that a server runs now; returns the least release that may serve, "" = any."""
    values = {"id": server.id, "host": server.host, "release": server.release}
    return str(tx.execute(_NOTE, values).scalar_one())


def least_release(database: Database) -> str:
    """Return the least release that may serve a database; "" = any."""
    with database.engine.connect() as connection:
        return str(connection.execute(_LEAST_RELEASE).scalar_one_or_none() or "")
