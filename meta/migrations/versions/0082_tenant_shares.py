"""Shares of tenants in the bounds of the installation, their quotas, and names in metrics."""

from alembic import op

revision = "0082"
down_revision = "0081"


def upgrade() -> None:
    """Add tables that servers of 0.3.0 do not know."""
    op.execute("""
        CREATE TABLE tenant_shares (
          tenant_key integer NOT NULL CONSTRAINT tenant_shares_pkey PRIMARY KEY,
          percent smallint DEFAULT 0 NOT NULL,
          datasets bigint DEFAULT 0 NOT NULL,
          records_per_month bigint DEFAULT 0 NOT NULL,
          bytes_per_sec bigint DEFAULT 0 NOT NULL);
        CREATE TABLE metric_names (
          tenant_key integer NOT NULL CONSTRAINT metric_names_pkey PRIMARY KEY)
    """)
