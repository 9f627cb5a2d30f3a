"""Names of columns of schemas that changed, and the field ids that these columns keep."""

from alembic import op

revision = "0073"
down_revision = "0072"


def upgrade() -> None:
    """Add columns; no row has them before the upgrade is finished."""
    op.execute("ALTER TABLE promoted_field_ids ADD COLUMN column_id integer")
    op.execute("ALTER TABLE schema_versions ADD COLUMN renamed text[], ADD COLUMN new_names text[]")
