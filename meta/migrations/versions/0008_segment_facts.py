"""The content of a segment, as its writer told it; null where it is not known."""

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the columns, which change no row."""
    op.execute("ALTER TABLE segments ADD COLUMN facts BYTEA, ADD COLUMN signals SMALLINT")
