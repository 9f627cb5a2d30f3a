"""Records that datasets left out because they were rows already."""

from alembic import op

revision = "0050"
down_revision = "0049"


def upgrade() -> None:
    """Add an empty table, which servers of 0.2.0 do not know."""
    op.execute("""
        CREATE TABLE dataset_repeats (
          dataset_key INTEGER PRIMARY KEY,
          records BIGINT NOT NULL
        )
    """)
