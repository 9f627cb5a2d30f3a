"""Counts of live records, and an index of the first event of large segments."""

from alembic import op

revision = "0069"
down_revision = "0068"
_INDEX = "segments_large_index"


def upgrade() -> None:
    """Add the counters, which servers of 0.3.0 leave as they are, and the index beside writers."""
    op.execute(
        "ALTER TABLE dataset_stats ADD COLUMN live_records bigint NOT NULL DEFAULT 0,"
        " ADD COLUMN records_counted boolean NOT NULL DEFAULT false"
    )
    with op.get_context().autocommit_block():
        # An interrupted build leaves an invalid index.
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {_INDEX}")
        op.execute(
            f"CREATE INDEX CONCURRENTLY {_INDEX} ON segments (dataset_key, start_ns, id)"
            " WHERE tombstone_version IS NULL"
            " AND (quarantined_at IS NOT NULL OR compressed_size_bytes >= 268435456)"
        )
