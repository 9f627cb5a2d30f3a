"""Named stores: a database remembers those that its servers were configured with."""

from collections.abc import Mapping, Sequence

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from segments.keys import store_folder

_KNOWN = text("SELECT name, url FROM object_stores ORDER BY name FOR UPDATE")
_NAMES = text("SELECT name FROM object_stores ORDER BY name")
_REMEMBER = text("""
    INSERT INTO object_stores (name, url) VALUES (:name, :url)
    ON CONFLICT (name) DO UPDATE SET url = excluded.url
""")
_UNKNOWN = text(
    "SELECT name FROM object_stores WHERE name <> ALL(cast(:names AS text[])) ORDER BY name"
)
_FORGET = text("DELETE FROM object_stores WHERE name = :name")
# Reads all segments, once in the life of a store.
_IS_USED = text("""
    SELECT EXISTS (SELECT FROM datasets WHERE store = :name)
        OR EXISTS (SELECT FROM tenants WHERE store = :name AND purged_at IS NULL)
        OR EXISTS (SELECT FROM rewrite_jobs WHERE store = :name AND state < 3)
        OR EXISTS (SELECT FROM segments WHERE split_part(prefix, '/', 4) = :folder)
""")


def configure(tx: Transaction, urls: Mapping[str, str]) -> Sequence[str]:
    """Remember the stores of a server that starts, by name.

    Stores that it does not name are forgotten, except those in use, whose names are returned.
    """
    stored = {row.name: row.url for row in tx.execute(_KNOWN)}
    in_use = []
    for name in stored.keys() - urls.keys():
        if tx.execute(_IS_USED, {"name": name, "folder": store_folder(name)[:-1]}).scalar_one():
            in_use.append(name)
        else:
            tx.execute(_FORGET, {"name": name})
    for name, url in sorted(urls.items()):
        if stored.get(name) != url:
            remember(tx, name, url)
    return sorted(in_use)


def names(tx: Transaction) -> Sequence[str]:
    """The names of all stores that the database remembers."""
    return list(tx.execute(_NAMES).scalars())


def unknown(tx: Transaction, configured: Sequence[str]) -> Sequence[str]:
    """Stores that other servers were configured with, in addition to those of this server."""
    return list(tx.execute(_UNKNOWN, {"names": list(configured)}).scalars())


def remember(tx: Transaction, name: str, url: str) -> None:
    """Remember a store, or its new location."""
    tx.execute(_REMEMBER, {"name": name, "url": url})
