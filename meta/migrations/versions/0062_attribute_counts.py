"""Columns that meta chooses: counts of records by attribute, and when the next choice is due."""

from alembic import op

revision = "0062"
down_revision = "0061"


def upgrade() -> None:
    """Add two columns and two tables, which servers of before do not know."""
    op.execute("ALTER TABLE datasets ADD COLUMN columns_chosen_next TIMESTAMPTZ")
    op.execute("""
        CREATE INDEX datasets_columns_chosen_next ON datasets (columns_chosen_next)
        WHERE columns_chosen_next IS NOT NULL
    """)
    op.execute("ALTER TABLE automatic_columns ADD COLUMN is_chosen BOOLEAN NOT NULL DEFAULT false")
    op.execute("""
        CREATE TABLE attribute_counts (
            id UUID PRIMARY KEY,
            dataset_id UUID NOT NULL REFERENCES datasets (id),
            hour INTEGER NOT NULL,
            counts JSONB NOT NULL
        )
    """)
    op.execute("CREATE INDEX attribute_counts_dataset_id ON attribute_counts (dataset_id)")
    op.execute("""
        CREATE TABLE attribute_sums (
            dataset_id UUID NOT NULL REFERENCES datasets (id),
            hour INTEGER NOT NULL,
            counts JSONB NOT NULL,
            PRIMARY KEY (dataset_id, hour)
        )
    """)
