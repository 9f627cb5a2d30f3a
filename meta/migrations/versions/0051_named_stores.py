"""Stores beside the default one, and the store of each dataset's new segments."""

from alembic import op

revision = "0051"
down_revision = "0050"


def upgrade() -> None:
    """Add columns with constant defaults; servers of 0.2.0 know the default store alone."""
    op.execute("CREATE TABLE object_stores (name TEXT PRIMARY KEY, url TEXT NOT NULL)")
    op.execute("ALTER TABLE datasets ADD COLUMN store TEXT NOT NULL DEFAULT ''")
    op.execute("ALTER TABLE rewrite_jobs ADD COLUMN store TEXT")
