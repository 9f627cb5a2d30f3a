"""The time adjustment of a dataset."""

from alembic import op

revision = "0075"
down_revision = "0074"


def upgrade() -> None:
    """Add a column with a constant default, which rewrites no row."""
    op.execute("ALTER TABLE datasets ADD COLUMN time_adjustment_nanos bigint DEFAULT 0 NOT NULL")
