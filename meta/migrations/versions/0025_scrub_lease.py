"""The lease of the janitor that scrubs, so that several do not read the same objects."""

from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Add nullable columns, which servers of the release before leave as they are."""
    op.execute("ALTER TABLE scrub_state ADD COLUMN holder TEXT")
    op.execute("ALTER TABLE scrub_state ADD COLUMN lease_until TIMESTAMP WITH TIME ZONE")
