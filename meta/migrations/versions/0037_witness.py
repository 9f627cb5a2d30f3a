"""The database's side of the witness: the ceiling of versions, the tick, and its history."""

from alembic import op

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    """Add two columns and a table; servers of the release before draw versions without them."""
    op.execute("ALTER TABLE meta_state ADD COLUMN ceiling BIGINT, ADD COLUMN incarnation TEXT")
    op.execute("""
        CREATE TABLE witness_state (
            id SMALLINT DEFAULT 1 NOT NULL,
            tick BIGINT DEFAULT 0 NOT NULL,
            tick_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            history BIGINT,
            number BIGINT DEFAULT 0 NOT NULL,
            term UUID,
            next_term UUID,
            superseded_by BIGINT,
            restored_at TIMESTAMP WITH TIME ZONE,
            restored_reason TEXT DEFAULT '' NOT NULL,
            CONSTRAINT witness_state_pkey PRIMARY KEY (id),
            CONSTRAINT one_witness CHECK (id = 1)
        )
    """)
    op.execute("INSERT INTO witness_state DEFAULT VALUES")
