"""The retention that the deletion brake compares a dataset's losses with."""

from alembic import op

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    """Add a table; servers of the release before hold what the brake then allows."""
    op.execute("""
        CREATE TABLE retention_baselines (
            dataset_key INTEGER NOT NULL,
            event_secs BIGINT DEFAULT 0 NOT NULL,
            created_secs BIGINT DEFAULT 0 NOT NULL,
            seen_event_secs BIGINT DEFAULT 0 NOT NULL,
            seen_created_secs BIGINT DEFAULT 0 NOT NULL,
            seen_since TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            CONSTRAINT retention_baselines_pkey PRIMARY KEY (dataset_key)
        )
    """)
    # A retention that nobody changed in the week before, and that no brake holds, is the baseline.
    op.execute("""
        INSERT INTO retention_baselines
            (dataset_key, event_secs, created_secs, seen_event_secs, seen_created_secs)
        SELECT d.key, event_secs, created_secs, event_secs, created_secs
        FROM datasets d CROSS JOIN LATERAL (
            SELECT coalesce(d.event_retention_secs, 0) AS event_secs,
                   coalesce(d.created_retention_secs, 0) AS created_secs) r
        WHERE d.deleted_at IS NULL AND (event_secs > 0 OR created_secs > 0)
          AND NOT EXISTS (SELECT FROM deletion_brakes b
                          WHERE b.dataset_key = d.key AND b.braked_at IS NOT NULL)
          AND NOT EXISTS (SELECT FROM audit_log a
                          WHERE a.rpc = 'SetDatasetSettings' AND a.subject_id = d.id::text
                            AND a.at > now() - interval '7 days')
    """)
