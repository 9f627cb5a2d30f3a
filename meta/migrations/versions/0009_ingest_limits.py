"""Limits that collectors apply to the ingest tokens of a dataset; 0 = the collector's default.

Servers of 0.1.0 never look at the columns.
"""

from alembic import op

revision = "0009"
down_revision = "0008"

_COLUMNS = (
    "ingest_bytes_per_sec",
    "ingest_exports_in_flight",
    "ingest_memory_bytes",
    "event_age_max_secs",
    "event_lead_max_secs",
)


def upgrade() -> None:
    """Add the columns; a constant default rewrites no row."""
    for name in _COLUMNS:
        op.execute(f"ALTER TABLE datasets ADD COLUMN {name} BIGINT DEFAULT 0 NOT NULL")
