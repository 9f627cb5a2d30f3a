"""Parts of the identities of a registration that has more than one message holds."""

from alembic import op

revision = "0057"
down_revision = "0056"


def upgrade() -> None:
    """Add an empty table, which servers of before do not know."""
    op.execute("""
        CREATE TABLE staged_identities (
          staged_id UUID NOT NULL,
          part SMALLINT NOT NULL,
          days INTEGER[] NOT NULL,
          numbers INTEGER[] NOT NULL,
          hashes BYTEA NOT NULL,
          staged_at TIMESTAMPTZ NOT NULL DEFAULT now(),
          PRIMARY KEY (staged_id, part)
        )
    """)
    # Random bytes do not compress.
    op.execute("ALTER TABLE staged_identities ALTER hashes SET STORAGE EXTERNAL")
