"""Workers that asked for their configuration, and what operators have set for them."""

from alembic import op

revision = "0046"
down_revision = "0045"


def upgrade() -> None:
    """Add two tables, of which servers of the release before know nothing: they answer no settings."""
    op.execute("""
        CREATE TABLE workers (
            id TEXT COLLATE "C" NOT NULL,
            first_seen_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
            last_seen_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
            CONSTRAINT workers_pkey PRIMARY KEY (id)
        )
    """)
    op.execute("CREATE INDEX workers_last_seen_at_index ON workers (last_seen_at)")
    op.execute("""
        CREATE TABLE worker_settings (
            name TEXT COLLATE "C" NOT NULL,
            settings JSONB NOT NULL,
            updated_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
            CONSTRAINT worker_settings_pkey PRIMARY KEY (name)
        )
    """)
