"""Objects whose damage is proven, and how far the scrub has come."""

from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Create the tables, which servers of 0.1.0 never look at."""
    op.execute("""
        CREATE TABLE damaged_objects (
            object_key TEXT COLLATE "C" NOT NULL,
            damage TEXT NOT NULL,
            found_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            CONSTRAINT damaged_objects_pkey PRIMARY KEY (object_key)
        )
    """)
    op.execute("""
        CREATE TABLE scrub_state (
            name TEXT NOT NULL,
            checked_through TEXT COLLATE "C" NOT NULL,
            objects BIGINT NOT NULL,
            size_bytes BIGINT NOT NULL,
            is_complete BOOLEAN NOT NULL,
            began_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            CONSTRAINT scrub_state_pkey PRIMARY KEY (name)
        )
    """)
