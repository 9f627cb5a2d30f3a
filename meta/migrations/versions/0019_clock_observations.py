"""Observations of the database's clock, and ages that do not count what nobody has observed."""

from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Create two small tables and a function, which servers of the release before do not use."""
    op.execute("""
        CREATE TABLE clock_state (
            id SMALLINT DEFAULT 1 NOT NULL,
            observed_at TIMESTAMP WITH TIME ZONE,
            CONSTRAINT clock_state_pkey PRIMARY KEY (id),
            CONSTRAINT clock_state_one_row_check CHECK (id = 1)
        )
    """)
    op.execute("INSERT INTO clock_state DEFAULT VALUES")
    op.execute("""
        CREATE TABLE clock_gaps (
            gap_end TIMESTAMP WITH TIME ZONE NOT NULL,
            gap_start TIMESTAMP WITH TIME ZONE NOT NULL,
            CONSTRAINT clock_gaps_pkey PRIMARY KEY (gap_end)
        )
    """)
    # What is before the result is older than the age, the gaps not counted.
    op.execute("""
        CREATE FUNCTION meta_ago(age_secs DOUBLE PRECISION) RETURNS TIMESTAMP WITH TIME ZONE
        LANGUAGE plpgsql STABLE STRICT AS $$
        DECLARE
            cutoff TIMESTAMP WITH TIME ZONE;
            gap RECORD;
        BEGIN
            SELECT least(now(), observed_at + interval '60 seconds') INTO cutoff FROM clock_state;
            cutoff := cutoff - make_interval(secs => age_secs);
            FOR gap IN SELECT gap_start, gap_end FROM clock_gaps ORDER BY gap_end DESC LOOP
                EXIT WHEN cutoff >= gap.gap_end;
                cutoff := cutoff - (gap.gap_end - gap.gap_start);
            END LOOP;
            RETURN cutoff;
        END $$
    """)
