"""Metadata of datasets as tables of other systems: its objects, and the snapshots made of them."""

from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Create two tables that servers of the release before do not use."""
    op.execute("""
        CREATE TABLE table_objects (
            id BIGINT GENERATED ALWAYS AS IDENTITY,
            dataset_key INTEGER NOT NULL,
            digest BYTEA NOT NULL,
            object_key TEXT COLLATE "C" NOT NULL,
            size_bytes BIGINT NOT NULL,
            gap_end BIGINT NOT NULL,
            handed_out_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            examined_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            CONSTRAINT table_objects_pkey PRIMARY KEY (id),
            CONSTRAINT table_objects_digest_key UNIQUE (dataset_key, digest),
            CONSTRAINT table_objects_object_key_key UNIQUE (object_key)
        )
    """)
    op.execute("CREATE INDEX table_objects_examined_index ON table_objects (examined_at)")
    op.execute("""
        CREATE TABLE table_snapshots (
            dataset_key INTEGER NOT NULL,
            version BIGINT NOT NULL,
            object_ids BIGINT[] NOT NULL,
            gap_end BIGINT NOT NULL,
            committed_at_ms BIGINT NOT NULL,
            segments BIGINT NOT NULL,
            number_of_events BIGINT NOT NULL,
            size_bytes BIGINT NOT NULL,
            handed_out_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            examined_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            CONSTRAINT table_snapshots_pkey PRIMARY KEY (dataset_key, version)
        )
    """)
    op.execute("CREATE INDEX table_snapshots_examined_index ON table_snapshots (examined_at)")
