"""Rewrites as jobs, the tasks that belong to them, and the format of each segment."""

from alembic import op

revision = "0021"
down_revision = "0020"

_INDEX = """
CREATE INDEX CONCURRENTLY IF NOT EXISTS merge_tasks_rewrite_index
    ON merge_tasks (rewrite_id, state) WHERE rewrite_id IS NOT NULL
"""
# What a build that was interrupted leaves behind is invalid, and would count as existing.
_DROP_INVALID = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_index
               WHERE indexrelid = to_regclass('merge_tasks_rewrite_index') AND NOT indisvalid) THEN
        DROP INDEX merge_tasks_rewrite_index;
    END IF;
END $$
"""


def upgrade() -> None:
    """Add a table that servers of the release before do not use, and columns that may be null."""
    op.execute("ALTER TABLE segments ADD COLUMN IF NOT EXISTS format_version INTEGER")
    op.execute("ALTER TABLE merge_tasks ADD COLUMN IF NOT EXISTS rewrite_id UUID")
    op.execute("""
        CREATE TABLE IF NOT EXISTS rewrite_jobs (
            id UUID NOT NULL,
            dataset_key INTEGER NOT NULL,
            state SMALLINT NOT NULL,
            format_version INTEGER,
            start_ns BIGINT,
            end_ns BIGINT,
            version BIGINT NOT NULL,
            tasks_max INTEGER NOT NULL,
            bytes_per_sec BIGINT,
            allowance_bytes BIGINT DEFAULT 0 NOT NULL,
            cursor_at TIMESTAMP WITH TIME ZONE DEFAULT '1970-01-01 00:00:00+00' NOT NULL,
            cursor_id UUID DEFAULT '00000000-0000-0000-0000-000000000000' NOT NULL,
            total_segments BIGINT DEFAULT 0 NOT NULL,
            total_bytes BIGINT DEFAULT 0 NOT NULL,
            done_segments BIGINT DEFAULT 0 NOT NULL,
            done_bytes BIGINT DEFAULT 0 NOT NULL,
            active_ms BIGINT DEFAULT 0 NOT NULL,
            created_at TIMESTAMP WITH TIME ZONE NOT NULL,
            due_at TIMESTAMP WITH TIME ZONE NOT NULL,
            advanced_at TIMESTAMP WITH TIME ZONE NOT NULL,
            planned_at TIMESTAMP WITH TIME ZONE,
            finished_at TIMESTAMP WITH TIME ZONE,
            CONSTRAINT rewrite_jobs_pkey PRIMARY KEY (id),
            CONSTRAINT rewrite_jobs_state_check CHECK (state IN (1, 2, 3, 4))
        )
    """)
    op.execute("""
        CREATE UNIQUE INDEX IF NOT EXISTS rewrite_jobs_unfinished_index
            ON rewrite_jobs (dataset_key) WHERE state < 3
    """)
    op.execute(_DROP_INVALID)
    with op.get_context().autocommit_block():
        op.execute(_INDEX)
