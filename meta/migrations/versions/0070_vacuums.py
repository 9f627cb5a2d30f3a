"""Requests to delete what is older than a time, and how far each dataset was vacuumed."""

from alembic import op

revision = "0070"
down_revision = "0069"


def upgrade() -> None:
    """Add columns and a table that servers of 0.3.0 do not know; they refuse early deletions."""
    op.execute(
        "ALTER TABLE datasets ADD COLUMN vacuum_before timestamptz, ADD COLUMN vacuum_version bigint"
    )
    op.execute("""
        CREATE TABLE vacuums (
          id uuid NOT NULL CONSTRAINT vacuums_pkey PRIMARY KEY,
          dataset_key integer,
          older_than_secs bigint NOT NULL,
          requested_at timestamptz NOT NULL DEFAULT now(),
          planned_at timestamptz,
          taken_at timestamptz,
          finished_at timestamptz,
          segments bigint NOT NULL DEFAULT 0,
          segment_bytes bigint NOT NULL DEFAULT 0,
          table_objects bigint NOT NULL DEFAULT 0,
          table_bytes bigint NOT NULL DEFAULT 0,
          orphans bigint NOT NULL DEFAULT 0,
          orphan_bytes bigint NOT NULL DEFAULT 0,
          orphans_left bigint NOT NULL DEFAULT 0)
    """)
    op.execute(
        "CREATE INDEX vacuums_open_index ON vacuums (requested_at) WHERE finished_at IS NULL"
    )
