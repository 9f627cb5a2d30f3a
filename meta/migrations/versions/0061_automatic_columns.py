"""Automatic columns of datasets: hidden columns over attributes, by field id."""

from alembic import op

revision = "0061"
down_revision = "0060"


def upgrade() -> None:
    """Add a column with a constant default and a table, which servers of before do not know."""
    op.execute(
        "ALTER TABLE datasets ADD COLUMN has_automatic_columns BOOLEAN NOT NULL DEFAULT false"
    )
    op.execute("""
        CREATE TABLE automatic_columns (
            dataset_id UUID NOT NULL REFERENCES datasets (id),
            field_id INTEGER NOT NULL,
            attribute TEXT NOT NULL,
            type SMALLINT NOT NULL,
            is_written BOOLEAN NOT NULL,
            PRIMARY KEY (dataset_id, field_id),
            CONSTRAINT automatic_columns_dataset_id_attribute_type_unique
              UNIQUE (dataset_id, attribute, type)
        )
    """)
