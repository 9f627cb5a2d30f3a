"""Deleted datasets whose objects stay."""

from alembic import op

revision = "0054"
down_revision = "0053"


def upgrade() -> None:
    """Add a column with a constant default; servers of 0.2.0 delete the objects all the same."""
    op.execute("ALTER TABLE datasets ADD COLUMN kept_files SMALLINT NOT NULL DEFAULT 0")
    op.execute("CREATE INDEX datasets_kept_index ON datasets (key) WHERE kept_files IN (1, 2)")
