"""Two indexes of segments that only servers of 0.1.0 used."""

from alembic import op

revision = "0067"
down_revision = "0066"


def upgrade() -> None:
    """Drop them beside running writers; no statement of 0.3.0 is made for them."""
    with op.get_context().autocommit_block():
        for index in ("segments_mergeable_index", "segments_tombstoned_index"):
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {index}")
