"""The principal that took a pin, which alone renews and releases it."""

from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    """Add a column that servers of the release before leave empty: such pins have none."""
    op.execute("ALTER TABLE pins ADD COLUMN principal TEXT DEFAULT '' NOT NULL")
    # At most 10,000 rows.
    op.execute("CREATE INDEX pins_principal_index ON pins (principal)")
