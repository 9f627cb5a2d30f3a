"""Streams that cannot pass a baby segment, and the loss ledger."""

from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Create two tables, which servers of the release before do not use."""
    op.execute("""
        CREATE TABLE parked_streams (
            stream_id UUID NOT NULL,
            "offset" BIGINT NOT NULL,
            reason TEXT NOT NULL,
            parked_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            CONSTRAINT parked_streams_pkey PRIMARY KEY (stream_id)
        )
    """)
    op.execute("""
        CREATE TABLE losses (
            id UUID NOT NULL,
            kind SMALLINT NOT NULL,
            stream_id UUID,
            "offset" BIGINT,
            dataset_id UUID,
            segment_id UUID,
            object_key TEXT,
            records BIGINT,
            version BIGINT NOT NULL,
            lost_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            actor TEXT NOT NULL,
            reason TEXT NOT NULL,
            withdrawn_version BIGINT,
            CONSTRAINT losses_pkey PRIMARY KEY (id)
        )
    """)
    op.execute('CREATE INDEX losses_stream_index ON losses (stream_id, "offset")')
    op.execute("CREATE INDEX losses_segment_index ON losses (segment_id)")
