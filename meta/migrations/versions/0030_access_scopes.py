"""Access tokens that are limited to datasets, and which pepper a token's hash was made with."""

from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    """Add columns that servers of the release before leave empty: no limit, an unknown pepper."""
    op.execute("ALTER TABLE access_tokens ADD COLUMN dataset_ids UUID[]")
    op.execute("ALTER TABLE access_tokens ADD COLUMN pepper TEXT DEFAULT '' NOT NULL")
    op.execute("ALTER TABLE ingest_tokens ADD COLUMN pepper TEXT DEFAULT '' NOT NULL")
