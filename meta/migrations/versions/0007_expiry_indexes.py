"""Indexes by which deletion and retention read what is due, dataset by dataset, and nothing else.

segments_tombstoned_index stays for servers of 0.1.0 that run beside this release; the next release
drops it.
"""

from alembic import op

revision = "0007"
down_revision = "0006"

_INDEXES = {
    "segments_due_index": """
        CREATE INDEX CONCURRENTLY IF NOT EXISTS segments_due_index
        ON segments (dataset_key, tombstone_at, id) WHERE tombstone_version IS NOT NULL
    """,
    "segments_event_end_index": """
        CREATE INDEX CONCURRENTLY IF NOT EXISTS segments_event_end_index
        ON segments (dataset_key, end_ns, id) WHERE tombstone_version IS NULL
    """,
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
    for name, statement in _INDEXES.items():
        op.execute(_DROP_INVALID.format(name=name))
        with op.get_context().autocommit_block():
            op.execute(statement)
