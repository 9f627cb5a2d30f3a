"""The setting by which a dataset has each event once."""

from alembic import op

revision = "0053"
down_revision = "0052"


def upgrade() -> None:
    """Add columns without a value; nurseries of 0.2.0 are refused where it is set."""
    op.execute("ALTER TABLE datasets ADD COLUMN identity_rule BIGINT")
    op.execute("ALTER TABLE datasets ADD COLUMN identity_column TEXT NOT NULL DEFAULT ''")
    op.execute("ALTER TABLE dataset_identities ADD COLUMN key BYTEA NOT NULL DEFAULT ''")
