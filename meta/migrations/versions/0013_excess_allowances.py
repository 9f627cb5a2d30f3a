"""Events that an operator allows registrations to hold beyond their baby segments' records."""

from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Create a small table, which servers of the release before do not use."""
    op.execute("""
        CREATE TABLE excess_allowances (
            dataset_id UUID NOT NULL,
            events BIGINT NOT NULL,
            CONSTRAINT excess_allowances_pkey PRIMARY KEY (dataset_id),
            CONSTRAINT excess_allowances_dataset_id_fkey FOREIGN KEY (dataset_id)
                REFERENCES datasets (id) ON DELETE CASCADE
        )
    """)
