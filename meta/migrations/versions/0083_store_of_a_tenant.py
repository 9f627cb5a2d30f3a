"""The store of a tenant's new datasets."""

from alembic import op

revision = "0083"
down_revision = "0082"


def upgrade() -> None:
    """Add a column that servers of 0.3.0 do not know."""
    op.execute("ALTER TABLE tenants ADD COLUMN store text DEFAULT '' NOT NULL")
