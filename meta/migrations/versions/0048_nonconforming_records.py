"""Settings for records that do not conform, and the ones that the quarantine counts."""

from alembic import op

revision = "0048"
down_revision = "0047"


def upgrade() -> None:
    """Add a column with a constant default, and a table.

    Servers of 0.2.0 know no bound columns: their nurseries write every record as a row.
    """
    op.execute("ALTER TABLE datasets ADD COLUMN nonconforming SMALLINT NOT NULL DEFAULT 0")
    op.execute("""
        CREATE TABLE quarantined_ranges (
          stream_id UUID NOT NULL,
          verdict TEXT COLLATE "C" NOT NULL,
          first_offset BIGINT NOT NULL,
          last_offset BIGINT NOT NULL,
          PRIMARY KEY (stream_id, verdict, first_offset)
        )
    """)
