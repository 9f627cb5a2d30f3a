"""Datasets that refuse events outside the window of their identities."""

from alembic import op

revision = "0058"
down_revision = "0057"


def upgrade() -> None:
    """Add a column with a constant default, which servers of before do not know."""
    op.execute(
        "ALTER TABLE dataset_identities ADD COLUMN refuses_outside BOOLEAN NOT NULL DEFAULT false"
    )
