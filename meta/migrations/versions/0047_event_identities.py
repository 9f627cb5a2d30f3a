"""Identities of events: datasets in which each event is a row once, and the identities claimed."""

from alembic import op

revision = "0047"
down_revision = "0046"


def upgrade() -> None:
    """Add empty tables and a function, which servers of 0.2.0 do not know.

    Identities of a day that is over are in the table of the day's number modulo 32. The function
    empties such a table as its owner, because the role that serves may not truncate, and only if
    no run is in it.
    """
    op.execute("""
        CREATE TABLE dataset_identities (
          dataset_key INTEGER PRIMARY KEY,
          days SMALLINT NOT NULL
        )
    """)
    op.execute("""
        CREATE TABLE identity_runs (
          id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
          dataset_key INTEGER NOT NULL,
          day INTEGER NOT NULL,
          tier SMALLINT NOT NULL,
          bits SMALLINT NOT NULL,
          identities BIGINT NOT NULL,
          is_young BOOLEAN NOT NULL,
          is_due BOOLEAN NOT NULL
        )
    """)
    op.execute(
        "CREATE INDEX identity_runs_dataset_key_day_tier_index"
        " ON identity_runs (dataset_key, day, tier)"
    )
    op.execute("CREATE INDEX identity_runs_due_index ON identity_runs (id) WHERE is_due")
    for name in ("identity_pages", *(f"identity_pages_{slot:02}" for slot in range(32))):
        op.execute(f"""
            CREATE TABLE {name} (
              run BIGINT NOT NULL,
              bucket INTEGER NOT NULL,
              hashes UUID[] NOT NULL,
              PRIMARY KEY (run, bucket)
            )
        """)
        # Random bytes do not compress, and a page out of line costs a second look-up.
        op.execute(f"ALTER TABLE {name} ALTER hashes SET STORAGE PLAIN")
    op.execute("""
        CREATE FUNCTION meta_empty_identity_pages(slot INTEGER) RETURNS BOOLEAN
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
        SET lock_timeout = '1s' AS $$
        BEGIN
          IF EXISTS (SELECT FROM identity_runs r WHERE r.day % 32 = slot AND NOT r.is_young) THEN
            RETURN false;
          END IF;
          EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE',
                         'identity_pages_' || lpad(slot::text, 2, '0'));
          IF EXISTS (SELECT FROM identity_runs r WHERE r.day % 32 = slot AND NOT r.is_young) THEN
            RETURN false;
          END IF;
          EXECUTE format('TRUNCATE %I', 'identity_pages_' || lpad(slot::text, 2, '0'));
          RETURN true;
        END
        $$
    """)
