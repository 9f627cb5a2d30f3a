"""Who created, changed and ended an entry of the catalog, and when."""

from alembic import op

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    """Add a table; what servers of the release before change is not in it."""
    op.execute("""
        CREATE TABLE catalog_authors (
            entry_id UUID NOT NULL,
            created_by TEXT,
            created_at TIMESTAMP WITH TIME ZONE,
            updated_by TEXT,
            updated_at TIMESTAMP WITH TIME ZONE,
            deleted_by TEXT,
            deleted_at TIMESTAMP WITH TIME ZONE,
            CONSTRAINT catalog_authors_pkey PRIMARY KEY (entry_id)
        )
    """)
