"""The time since which a dataset has had a name."""

from alembic import op

revision = "0056"
down_revision = "0055"


def upgrade() -> None:
    """Add a column that the database fills; it is null, for unknown, in rows of before."""
    op.execute("ALTER TABLE dataset_visibility ADD COLUMN from_time TIMESTAMPTZ")
    op.execute(
        "ALTER TABLE dataset_visibility ALTER COLUMN from_time SET DEFAULT clock_timestamp()"
    )
