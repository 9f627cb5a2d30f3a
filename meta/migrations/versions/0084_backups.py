"""Backups whose objects are kept."""

from alembic import op

revision = "0084"
down_revision = "0083"

_TABLES = """
CREATE TABLE backups (
    id uuid NOT NULL CONSTRAINT backups_pkey PRIMARY KEY,
    version bigint NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    ends_at timestamptz NOT NULL,
    note text DEFAULT '' NOT NULL,
    created_by text DEFAULT '' NOT NULL
);
CREATE TABLE backup_streams (
    stream_id uuid NOT NULL,
    backup_id uuid NOT NULL,
    after_offset bigint NOT NULL,
    through_offset bigint NOT NULL,
    size_bytes bigint NOT NULL,
    CONSTRAINT backup_streams_pkey PRIMARY KEY (stream_id, backup_id)
);
"""


def upgrade() -> None:
    """Add tables that servers of 0.3.0 do not know; none is filled before the upgrade is finished."""
    op.execute(_TABLES)
