"""The unit of times that are numbers in a dataset's JSON records."""

from alembic import op

revision = "0055"
down_revision = "0054"


def upgrade() -> None:
    """Add a column with a constant default; collectors of 0.2.0 take no JSON records."""
    op.execute("ALTER TABLE datasets ADD COLUMN timestamp_unit SMALLINT NOT NULL DEFAULT 0")
