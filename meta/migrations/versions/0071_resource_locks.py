"""Locks of resources."""

from alembic import op

revision = "0071"
down_revision = "0070"


def upgrade() -> None:
    """Create the table; servers of 0.3.0 know no locks, so the first one waits for their end."""
    op.execute("""
        CREATE TABLE resource_locks (
          id uuid NOT NULL PRIMARY KEY,
          kind smallint NOT NULL,
          resource_id uuid NOT NULL,
          token_digest bytea NOT NULL,
          reason text NOT NULL,
          locked_by text NOT NULL,
          locked_at timestamptz NOT NULL DEFAULT now(),
          ends_at timestamptz,
          ended_at timestamptz,
          is_awaited boolean NOT NULL DEFAULT false
        )
    """)
    op.execute("""
        CREATE UNIQUE INDEX resource_locks_unended ON resource_locks (kind, resource_id)
        WHERE ended_at IS NULL
    """)
    op.execute("CREATE INDEX resource_locks_resource ON resource_locks (resource_id, kind)")
    op.execute("""
        CREATE INDEX resource_locks_awaited ON resource_locks (resource_id) WHERE is_awaited
    """)
    op.execute("ALTER TABLE datasets ADD COLUMN hold_ends_at timestamptz")
