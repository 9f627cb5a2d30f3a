"""Datasets of which so much is to be deleted that an operator has to allow it."""

from alembic import op

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    """Add a table; servers of the release before delete without looking at it."""
    op.execute("""
        CREATE TABLE deletion_brakes (
            dataset_key INTEGER NOT NULL,
            braked_at TIMESTAMP WITH TIME ZONE,
            segments BIGINT NOT NULL,
            size_bytes BIGINT NOT NULL,
            live_size_bytes BIGINT NOT NULL,
            released_version BIGINT DEFAULT 0 NOT NULL,
            CONSTRAINT deletion_brakes_pkey PRIMARY KEY (dataset_key)
        )
    """)
