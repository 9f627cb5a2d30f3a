"""Pins: leases on a dataset at a version, whose segments are not deleted meanwhile.

Servers of 0.1.0 do not know them. What such a server hands out for deletion raises
`deletion_horizon` alone: it then differs from `pins_horizon`, and the pins below it are void.
"""

from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Create the table, and a nullable column."""
    op.execute("ALTER TABLE datasets ADD COLUMN pins_horizon BIGINT")
    op.execute("""
        CREATE TABLE pins (
            id UUID NOT NULL,
            owner TEXT NOT NULL,
            dataset_key INTEGER NOT NULL,
            version BIGINT NOT NULL,
            created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
            ends_at TIMESTAMP WITH TIME ZONE NOT NULL,
            held_segments BIGINT NOT NULL,
            held_bytes BIGINT NOT NULL,
            CONSTRAINT pins_pkey PRIMARY KEY (id),
            CONSTRAINT pins_lease_check CHECK (expires_at <= ends_at)
        )
    """)
    op.execute("CREATE INDEX pins_dataset_index ON pins (dataset_key, version)")
    op.execute("CREATE INDEX pins_owner_index ON pins (owner)")
