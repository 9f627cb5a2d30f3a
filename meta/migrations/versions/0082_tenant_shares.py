"""Shares of tenants in the bounds of the installation, and their quotas."""

from alembic import op

revision = "0082"
down_revision = "0081"


def upgrade() -> None:
    """Add a table that servers of 0.3.0 do not know."""
    op.execute("""
        CREATE TABLE tenant_shares (
          tenant_key integer NOT NULL CONSTRAINT tenant_shares_pkey PRIMARY KEY,
          percent smallint DEFAULT 0 NOT NULL,
          datasets bigint DEFAULT 0 NOT NULL,
          records_per_month bigint DEFAULT 0 NOT NULL,
          bytes_per_sec bigint DEFAULT 0 NOT NULL,
          has_metric_names boolean DEFAULT false NOT NULL)
    """)
