"""Further outputs of merge tasks that were divided by day; null where there is one output."""

from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add the column, which changes no row."""
    op.execute("ALTER TABLE merge_tasks ADD COLUMN more_output_ids UUID[]")
