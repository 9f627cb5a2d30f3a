"""The floor of what entries have merged, and registrations that begin above a stored offset."""

from alembic import op

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    """Add columns with constant defaults; servers of the release before leave them as they are."""
    op.execute("ALTER TABLE stream_heads ADD COLUMN merged_floor BIGINT NOT NULL DEFAULT -1")
    op.execute("ALTER TABLE registrations ADD COLUMN moved_from BIGINT")
