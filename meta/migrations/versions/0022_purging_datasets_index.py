"""The datasets that are deleted and not purged yet, which each claim of a merge task looks up."""

from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Build the index beside running writers; the table is small."""
    with op.get_context().autocommit_block():
        op.execute(
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS datasets_purging_index ON datasets (key)"
            " WHERE deleted_at IS NOT NULL AND purged_at IS NULL"
        )
