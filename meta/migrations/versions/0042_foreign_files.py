"""Objects that clients registered without facts: what a reading found of each."""

from alembic import op

revision = "0042"
down_revision = "0041"

# What a build that was interrupted leaves behind is invalid, and would count as existing.
_DROP_INVALID = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_index
               WHERE indexrelid = to_regclass('segments_foreign_index') AND NOT indisvalid) THEN
        DROP INDEX segments_foreign_index;
    END IF;
END $$
"""
# No nursery registered them and no merge wrote them, and their footers told nothing.
_READ_AGAIN = """
    UPDATE segments s SET foreign_state = 1, foreign_file = '\\x0801'
    WHERE s.facts = '' AND s.tombstone_version IS NULL AND s.merge_count = 0
      AND s.format_version IS NULL AND s.foreign_state IS NULL
      AND NOT EXISTS (SELECT FROM registrations r WHERE r.segment_id = s.id)
      AND NOT EXISTS (SELECT FROM registration_segments r WHERE r.segment_id = s.id)
"""


def upgrade() -> None:
    """Add columns and an index; what servers of 0.2.0 read without success is read once more.

    Segments that servers of 0.2.0 register go on without a state until a janitor reads them.
    """
    op.execute("ALTER TABLE segments ADD COLUMN IF NOT EXISTS foreign_state SMALLINT")
    op.execute("ALTER TABLE segments ADD COLUMN IF NOT EXISTS foreign_file BYTEA")
    op.execute(_READ_AGAIN)
    op.execute(_DROP_INVALID)
    with op.get_context().autocommit_block():
        op.execute(
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS segments_foreign_index"
            " ON segments (foreign_state, id)"
            " WHERE foreign_state IS NOT NULL AND tombstone_version IS NULL"
        )
