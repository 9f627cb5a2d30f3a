"""Quotas of creators, and an index by which the entries of a creator are found."""

from alembic import op

revision = "0074"
down_revision = "0073"


def upgrade() -> None:
    """Add a table and an index that servers of 0.3.0 do not know."""
    op.execute("""
        CREATE TABLE creator_quotas (
          creator text NOT NULL CONSTRAINT creator_quotas_pkey PRIMARY KEY,
          datasets bigint NOT NULL,
          records_per_month bigint NOT NULL)
    """)
    op.execute("CREATE INDEX catalog_authors_creators ON catalog_authors (created_by)")
