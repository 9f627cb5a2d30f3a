"""Access tokens with roles, and who made an audited change."""

from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Create a table; add a column that servers of the release before leave empty."""
    op.execute("""
        CREATE TABLE access_tokens (
            id UUID NOT NULL,
            subject TEXT NOT NULL,
            role TEXT NOT NULL,
            digest BYTEA NOT NULL,
            hint TEXT NOT NULL,
            created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            expires_at TIMESTAMP WITH TIME ZONE,
            revoked_at TIMESTAMP WITH TIME ZONE,
            CONSTRAINT access_tokens_pkey PRIMARY KEY (id),
            CONSTRAINT access_tokens_digest_key UNIQUE (digest)
        )
    """)
    op.execute("ALTER TABLE audit_log ADD COLUMN principal TEXT DEFAULT '' NOT NULL")
