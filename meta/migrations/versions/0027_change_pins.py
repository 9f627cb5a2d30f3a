"""Pins that hold what was changed after their version too, so that its changes can be read."""

from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Add a column with a constant default: a server before this one takes pins without."""
    op.execute("ALTER TABLE pins ADD COLUMN holds_changes BOOLEAN DEFAULT false NOT NULL")
