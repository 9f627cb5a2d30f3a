"""Leases of nurseries, and the shards of streams that each of them merges."""

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Create two small tables, which servers of the release before do not use."""
    op.execute("""
        CREATE TABLE nurseries (
            id TEXT NOT NULL,
            lease_until TIMESTAMP WITH TIME ZONE NOT NULL,
            CONSTRAINT nurseries_pkey PRIMARY KEY (id)
        )
    """)
    op.execute("""
        CREATE TABLE nursery_shards (
            shard SMALLINT NOT NULL,
            nursery_id TEXT NOT NULL,
            CONSTRAINT nursery_shards_pkey PRIMARY KEY (shard),
            CONSTRAINT nursery_shards_nursery_id_fkey FOREIGN KEY (nursery_id)
                REFERENCES nurseries (id) ON DELETE CASCADE
        )
    """)
