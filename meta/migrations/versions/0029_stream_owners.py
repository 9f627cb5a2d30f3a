"""The principal whose collector a stream belongs to."""

from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    """Add a column that servers of the release before leave empty: such streams have no owner."""
    op.execute("ALTER TABLE ingest_streams ADD COLUMN principal TEXT DEFAULT '' NOT NULL")
