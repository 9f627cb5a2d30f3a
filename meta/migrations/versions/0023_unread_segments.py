"""An index of the live segments whose content nobody has told yet; it shrinks as they are read."""

from alembic import op

revision = "0023"
down_revision = "0022"

# What a build that was interrupted leaves behind is invalid, and would count as existing.
_DROP_INVALID = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_index
               WHERE indexrelid = to_regclass('segments_unread_index') AND NOT indisvalid) THEN
        DROP INDEX segments_unread_index;
    END IF;
END $$
"""


def upgrade() -> None:
    """Build the index beside running writers."""
    op.execute(_DROP_INVALID)
    with op.get_context().autocommit_block():
        op.execute(
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS segments_unread_index ON segments (id)"
            " WHERE facts IS NULL AND tombstone_version IS NULL"
        )
