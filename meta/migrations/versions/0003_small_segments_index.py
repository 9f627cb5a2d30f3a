"""An index of the live segments below the target size, however often they were merged.

The planner of 0.1.0 left segments alone after four merges, and its index leaves them out. That
index stays for servers of 0.1.0 that run beside this release; the next release drops it.
"""

from alembic import op

revision = "0003"
down_revision = "0002"

_INDEX = """
CREATE INDEX CONCURRENTLY IF NOT EXISTS segments_small_index
    ON segments (dataset_key, start_ns, id)
    WHERE tombstone_version IS NULL AND quarantined_at IS NULL
        AND compressed_size_bytes < 268435456
"""
# What a build that was interrupted leaves behind is invalid, and would count as existing.
_DROP_INVALID = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_index
               WHERE indexrelid = to_regclass('segments_small_index') AND NOT indisvalid) THEN
        DROP INDEX segments_small_index;
    END IF;
END $$
"""


def upgrade() -> None:
    """Build the index beside running writers."""
    op.execute(_DROP_INVALID)
    with op.get_context().autocommit_block():
        op.execute(_INDEX)
