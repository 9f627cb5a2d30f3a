"""Indexes of segments by the version that added or removed them, for feeds of changes."""

from alembic import op

revision = "0020"
down_revision = "0019"

_INDEXES = {
    "segments_created_index": "(dataset_key, created_version, id)",
    "segments_removed_index": "(dataset_key, tombstone_version, id)"
    " WHERE tombstone_version IS NOT NULL",
}
# What a build that was interrupted leaves behind is invalid, and would count as existing.
_DROP_INVALID = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_index
               WHERE indexrelid = to_regclass('{name}') AND NOT indisvalid) THEN
        DROP INDEX {name};
    END IF;
END $$
"""


def upgrade() -> None:
    """Build the indexes beside running writers."""
    for name, columns in _INDEXES.items():
        op.execute(_DROP_INVALID.format(name=name))
        with op.get_context().autocommit_block():
            op.execute(f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON segments {columns}")
