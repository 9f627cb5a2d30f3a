"""The two roles of Postgres in docs/security.md: one owns and migrates, the other serves."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from meta import migrations
from meta.store.engine.pool import Database, DatabaseSettings

OWNER, SERVING, CALLERS = "segplane_migrations", "segplane_serving", "segplane_callers"
_PAGE = Path(__file__).parents[3] / "docs" / "security.md"
_BLOCK = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)


def as_role(url: str, role: str) -> str:
    """The same database for another role."""
    return urlsplit(url)._replace(netloc=f"{role}@").geturl()


def create(admin_url: str) -> None:
    """Make the roles, and one of them the owner of an empty database."""
    before, _ = _BLOCK.findall(_PAGE.read_text())
    name = urlsplit(admin_url).path.lstrip("/")
    with psycopg.connect(admin_url, autocommit=True) as admin:
        # Roles are of all databases; the servers of other tests have the one of callers too.
        if admin.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (CALLERS,)).fetchone():
            before = before.replace(f"CREATE ROLE {CALLERS} NOLOGIN;\n", "")
        admin.execute(before.replace("DATABASE segplane", f"DATABASE {name}"))


def migrate(admin_url: str) -> None:
    """Let the owner migrate, and grant the other role what it needs."""
    owner_url = as_role(admin_url, OWNER)
    database = Database(DatabaseSettings(url=owner_url, caller_role=CALLERS))
    try:
        migrations.upgrade(database)
    finally:
        database.close()
    _, grants = _BLOCK.findall(_PAGE.read_text())
    with psycopg.connect(owner_url, autocommit=True) as owner:
        owner.execute(grants)
