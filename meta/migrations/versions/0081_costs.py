"""The ledger of costs: what each dataset cost, by day and kind."""

from alembic import op

revision = "0081"
down_revision = "0080"

# A row changes each minute of its day; with room on its page, its index entry does not.
_TABLES = """
CREATE TABLE costs (
    day date NOT NULL,
    tenant_key integer DEFAULT 0 NOT NULL,
    dataset_id uuid NOT NULL,
    kind smallint NOT NULL,
    bytes bigint NOT NULL,
    read_requests bigint NOT NULL,
    write_requests bigint NOT NULL,
    cpu_micros bigint NOT NULL,
    PRIMARY KEY (day, tenant_key, dataset_id, kind)
) WITH (fillfactor = 70);
CREATE TABLE cost_months (
    month date NOT NULL,
    tenant_key integer DEFAULT 0 NOT NULL,
    dataset_id uuid NOT NULL,
    kind smallint NOT NULL,
    bytes bigint NOT NULL,
    read_requests bigint NOT NULL,
    write_requests bigint NOT NULL,
    cpu_micros bigint NOT NULL,
    PRIMARY KEY (month, tenant_key, dataset_id, kind)
) WITH (fillfactor = 70);
CREATE TABLE cost_reports (
    reporter uuid PRIMARY KEY,
    number bigint NOT NULL,
    reported_at timestamptz DEFAULT now() NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX cost_reports_reported_index ON cost_reports (reported_at);
CREATE TABLE cost_samples (
    period_at timestamptz PRIMARY KEY,
    last_key integer NOT NULL
);
"""


def upgrade() -> None:
    """Add the tables."""
    op.execute(_TABLES)
