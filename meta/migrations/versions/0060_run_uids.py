"""Runs of identities have ids that no other run has, in a restored database either."""

from alembic import op

revision = "0060"
down_revision = "0059"


def upgrade() -> None:
    """Add a column that fills itself, which servers of before do not know; runs are few."""
    op.execute("ALTER TABLE identity_runs ADD COLUMN uid UUID NOT NULL DEFAULT gen_random_uuid()")
