"""Deduplication and schema violations by the field's words."""

from alembic import op

revision = "0066"
down_revision = "0065"

_TABLES = {
    "dataset_identities": "dataset_deduplication",
    "dataset_repeats": "dataset_duplicates",
    "identity_runs": "deduplication_runs",
    "identity_pages": "deduplication_pages",
    "staged_identities": "staged_deduplication_keys",
    **{f"identity_pages_{slot:02}": f"deduplication_pages_{slot:02}" for slot in range(32)},
}
_INDEXES = {
    "identity_runs_due_index": "deduplication_runs_due_index",
    "identity_runs_dataset_key_day_tier_index": "deduplication_runs_dataset_key_day_tier_index",
}
_COLUMNS = {
    ("datasets", "identity_rule"): "deduplication_rule",
    ("datasets", "identity_column"): "deduplication_column",
    ("datasets", "nonconforming"): "schema_violations",
    ("deduplication_runs", "identities"): "deduplication_keys",
}


def upgrade() -> None:
    """Rename what servers of 0.2.0 do not know; nothing is read or rewritten."""
    for old, new in _TABLES.items():
        op.execute(f"ALTER TABLE {old} RENAME TO {new}")
        op.execute(f"ALTER INDEX {old}_pkey RENAME TO {new}_pkey")
    op.execute("ALTER SEQUENCE identity_runs_id_seq RENAME TO deduplication_runs_id_seq")
    for old, new in _INDEXES.items():
        op.execute(f"ALTER INDEX {old} RENAME TO {new}")
    for (table, old), new in _COLUMNS.items():
        op.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
    op.execute("ALTER FUNCTION meta_empty_identity_pages RENAME TO meta_empty_deduplication_pages")
    op.execute("""
        CREATE OR REPLACE FUNCTION meta_empty_deduplication_pages(slot INTEGER) RETURNS BOOLEAN
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
        SET lock_timeout = '1s' AS $$
        BEGIN
          IF EXISTS (
            SELECT FROM deduplication_runs r WHERE r.day % 32 = slot AND NOT r.is_young
          ) THEN
            RETURN false;
          END IF;
          EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE',
                         'deduplication_pages_' || lpad(slot::text, 2, '0'));
          IF EXISTS (
            SELECT FROM deduplication_runs r WHERE r.day % 32 = slot AND NOT r.is_young
          ) THEN
            RETURN false;
          END IF;
          EXECUTE format('TRUNCATE %I', 'deduplication_pages_' || lpad(slot::text, 2, '0'));
          RETURN true;
        END
        $$
    """)
