"""Former layouts say which of their columns were bound: one may have been bound since then."""

from alembic import op

revision = "0059"
down_revision = "0058"


def upgrade() -> None:
    """Add a column that servers of before leave null: what is bound now counts for such rows."""
    op.execute("ALTER TABLE former_layouts ADD COLUMN bound_ids INTEGER[]")
