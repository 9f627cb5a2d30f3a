"""The columns that a view's link reads and yields, so that a change that breaks it is found."""

from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Links from before have no rows: they were not checked, and stay as they are."""
    op.execute("""
        CREATE TABLE link_columns (
            link_id UUID NOT NULL,
            kind SMALLINT NOT NULL,
            name TEXT NOT NULL,
            type SMALLINT NOT NULL,
            PRIMARY KEY (link_id, kind, name),
            FOREIGN KEY (link_id) REFERENCES view_dataset_projections (id) ON DELETE CASCADE
        )
    """)
