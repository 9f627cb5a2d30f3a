"""The time at which a restored database was reconciled with the bucket."""

from alembic import op

revision = "0041"
down_revision = "0040"


def upgrade() -> None:
    """Add a column, and count databases as restored that release 0.2.0 held after a failover."""
    op.execute("ALTER TABLE witness_state ADD COLUMN reconciled_at TIMESTAMP WITH TIME ZONE")
    op.execute("""
        UPDATE witness_state SET restored_at = now(),
          restored_reason = 'deletion was held after a failover or restore when it was upgraded'
        WHERE restored_at IS NULL AND history IS NULL
          AND (SELECT deletion_held AND gap_end > 0 FROM meta_state)
    """)
