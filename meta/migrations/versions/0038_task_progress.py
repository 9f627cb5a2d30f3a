"""When the rows of a claimed merge task last rose."""

from alembic import op

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    """Add a column; servers of the release before leave it as it is."""
    op.execute("ALTER TABLE merge_tasks ADD COLUMN progressed_at TIMESTAMP WITH TIME ZONE")
