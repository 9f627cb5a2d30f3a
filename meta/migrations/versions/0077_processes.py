"""The processes of the installation, as they report themselves."""

from alembic import op

revision = "0077"
down_revision = "0076"

# A row changes each minute; with room on its page, its index entries do not.
_PROCESSES = """
CREATE TABLE processes (
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    started_at_nanos bigint NOT NULL,
    subject text COLLATE "C" NOT NULL,
    report bytea NOT NULL,
    is_ended boolean NOT NULL,
    clock_skew_nanos bigint NOT NULL,
    credential_ends_at_nanos bigint NOT NULL,
    first_seen_nanos bigint NOT NULL,
    last_seen_nanos bigint NOT NULL,
    PRIMARY KEY (kind, name, started_at_nanos, subject)
) WITH (fillfactor = 50);
"""


def upgrade() -> None:
    """Add the table."""
    op.execute(_PROCESSES)
