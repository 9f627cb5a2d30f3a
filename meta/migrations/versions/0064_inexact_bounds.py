"""Rewrites of the segments whose bounds leave values out."""

from alembic import op

revision = "0064"
down_revision = "0063"


def upgrade() -> None:
    """Add a column, which servers of before leave false: their rewrites take every segment."""
    op.execute("ALTER TABLE rewrite_jobs ADD COLUMN inexact_bounds BOOLEAN NOT NULL DEFAULT false")
