"""Denied calls by minute, host and reason."""

from alembic import op

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    """Add a table that servers of the release before leave empty."""
    op.execute("""
        CREATE TABLE denied_calls (
            id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            minute TIMESTAMP WITH TIME ZONE NOT NULL,
            host TEXT NOT NULL,
            reason TEXT NOT NULL,
            calls BIGINT NOT NULL,
            CONSTRAINT denied_calls_kind_key UNIQUE (minute, host, reason)
        )
    """)
