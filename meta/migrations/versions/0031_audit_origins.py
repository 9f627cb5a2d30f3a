"""Where an audited call came from, and the id by which its caller knows it."""

from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    """Add columns that servers of the release before leave empty."""
    op.execute("ALTER TABLE audit_log ADD COLUMN host TEXT DEFAULT '' NOT NULL")
    op.execute("ALTER TABLE audit_log ADD COLUMN request_id TEXT DEFAULT '' NOT NULL")
