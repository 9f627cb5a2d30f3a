"""Metas that serve the database, and the least release that may; the table is bounded."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta import release
from meta.errors import UpgradeUnfinished
from meta.store.engine.pool import Database, Transaction
from meta.store.versions import upgrades
from meta.store.versions.upgrades import FINISHED_RELEASE

# Every start of a process takes a row, so rows come and go.
SERVERS_MAX = 1_000
EXPIRY_DAYS = 30
# A meta notes itself every 30 s.
SEEN_SECS = 300
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
_SEEN = text("""
    SELECT release, host FROM meta_servers
    WHERE seen_at > now() - make_interval(secs => :secs) ORDER BY seen_at DESC
""")
_RAISE = text("UPDATE meta_state SET least_release = :release")


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


def finish(tx: Transaction) -> bool:
    """Let no meta of an earlier release serve the database from now on; False if none may already.

    Raises UpgradeUnfinished if one was seen in the last SEEN_SECS.
    """
    if upgrades.is_finished(tx):
        return False
    for server_release, host in tx.execute(_SEEN, {"secs": SEEN_SECS}):
        if release.refusal(FINISHED_RELEASE, server_release):
            raise UpgradeUnfinished(
                f"a meta of release {server_release} on {host} served the database in the last"
                f" {SEEN_SECS // 60} minutes: stop it, and repeat this {SEEN_SECS // 60} minutes"
                " later",
                release=server_release,
                host=host,
            )
    tx.execute(_RAISE, {"release": FINISHED_RELEASE})
    upgrades.contract(tx)
    return True
