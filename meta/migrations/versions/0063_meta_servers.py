"""The least release that may serve the database, and the metas that serve it."""

from alembic import op

revision = "0063"
down_revision = "0062"


def upgrade() -> None:
    """Add a column and a table, which servers of before neither read nor write."""
    op.execute("ALTER TABLE meta_state ADD COLUMN least_release TEXT")
    op.execute("""
        CREATE TABLE meta_servers (
            id UUID PRIMARY KEY,
            host TEXT NOT NULL,
            release TEXT NOT NULL,
            started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
            seen_at TIMESTAMPTZ NOT NULL DEFAULT now()
        )
    """)
    op.execute("CREATE INDEX meta_servers_seen_at ON meta_servers (seen_at)")
