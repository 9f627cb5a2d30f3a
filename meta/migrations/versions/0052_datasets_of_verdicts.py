"""The dataset whose records a verdict has quarantined."""

from alembic import op

revision = "0052"
down_revision = "0051"


def upgrade() -> None:
    """Add a column without a default; servers of the release before leave it null: not known."""
    op.execute("ALTER TABLE quarantined_ranges ADD COLUMN dataset_id UUID")
