"""Routing changes that are carried to a token's streams in pages, and the index that pages them.

Servers of 0.1.0 change routing in one transaction and never look at the table. Their index of
stream_tokens is a prefix of the new one; the next release drops it.
"""

from alembic import op

revision = "0004"
down_revision = "0003"

_TABLE = """
CREATE TABLE routing_changes (
    token_id UUID NOT NULL,
    last_stream_id UUID NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT routing_changes_pkey PRIMARY KEY (token_id)
)
"""
_INDEX = """
CREATE INDEX CONCURRENTLY IF NOT EXISTS stream_tokens_carriers_index
    ON stream_tokens (token_id, stream_id)
"""
# What a build that was interrupted leaves behind is invalid, and would count as existing.
_DROP_INVALID = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_index
               WHERE indexrelid = to_regclass('stream_tokens_carriers_index') AND NOT indisvalid)
    THEN
        DROP INDEX stream_tokens_carriers_index;
    END IF;
END $$
"""


def upgrade() -> None:
    """Create the table; build the index beside running writers."""
    op.execute(_TABLE)
    op.execute(_DROP_INVALID)
    with op.get_context().autocommit_block():
        op.execute(_INDEX)
