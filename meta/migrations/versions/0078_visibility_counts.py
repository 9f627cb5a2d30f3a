"""Counts of flushes by the time that they took to be visible, for the datasets with most bytes."""

from alembic import op

revision = "0078"
down_revision = "0077"

# The rows of datasets change each minute; with room on their page, their index entries do not.
_TABLES = """
CREATE TABLE measured_datasets (
    dataset_id uuid PRIMARY KEY,
    counted_version bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE visibility_counts (
    dataset_id uuid NOT NULL,
    period_at timestamptz NOT NULL,
    bucket smallint NOT NULL,
    flushes bigint NOT NULL,
    PRIMARY KEY (dataset_id, period_at, bucket)
) WITH (fillfactor = 50);
CREATE INDEX visibility_counts_period_index ON visibility_counts (period_at);
"""


def upgrade() -> None:
    """Add the tables."""
    op.execute(_TABLES)
