"""Settings of a dataset for objects that clients register without facts."""

from alembic import op

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    """Add columns with constant defaults; servers of 0.2.0 take every object, as before."""
    op.execute("ALTER TABLE datasets ADD COLUMN refuses_foreign BOOLEAN NOT NULL DEFAULT false")
    op.execute("ALTER TABLE datasets ADD COLUMN foreign_time_column TEXT NOT NULL DEFAULT ''")
