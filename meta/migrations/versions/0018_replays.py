"""Payloads of the quarantine that were replayed or dropped."""

from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Create a table, which servers of the release before do not use."""
    op.execute("""
        CREATE TABLE replays (
            object_key TEXT COLLATE "C" NOT NULL,
            state SMALLINT NOT NULL,
            dataset_id UUID,
            version BIGINT,
            segment_ids UUID[],
            actor TEXT NOT NULL,
            reason TEXT NOT NULL,
            changed_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            CONSTRAINT replays_pkey PRIMARY KEY (object_key)
        )
    """)
