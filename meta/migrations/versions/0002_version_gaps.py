"""Every gap of the version counter, where 0.1.0 knew the newest one only."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the table; meta_state keeps the newest gap, also for servers of 0.1.0."""
    op.execute(
        "CREATE TABLE version_gaps ("
        " gap_start BIGINT NOT NULL,"
        " gap_end BIGINT NOT NULL,"
        " CONSTRAINT version_gaps_pkey PRIMARY KEY (gap_start))"
    )
