"""The unchanging part of a segment's message, of which pages of segments are put together."""

from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Add a nullable column: rows of before, and of servers of before, are read as they were."""
    op.execute("ALTER TABLE segments ADD COLUMN message BYTEA")
