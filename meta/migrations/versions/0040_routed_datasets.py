"""Indexes by which the tokens that route to a dataset are found."""

from alembic import op

revision = "0040"
down_revision = "0039"

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
    for signal in ("logs", "traces", "metrics"):
        name = f"ingest_tokens_{signal}_index"
        op.execute(_DROP_INVALID.format(name=name))
        with op.get_context().autocommit_block():
            op.execute(
                f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name}"
                f" ON ingest_tokens ({signal}_dataset_id)"
            )
