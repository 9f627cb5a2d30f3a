"""Resources of all kinds with notes, contexts and labels; a fresh database is this release's alone."""

from uuid import UUID

from alembic import op
from sqlalchemy import TextClause, text

revision = "0068"
down_revision = "0067"

_TABLES = """
CREATE TABLE IF NOT EXISTS resources (
    id uuid NOT NULL,
    kind smallint NOT NULL,
    name text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    deleted_at timestamptz,
    removed_at timestamptz,
    is_live boolean GENERATED ALWAYS AS (deleted_at IS NULL) STORED NOT NULL,
    number bigint DEFAULT 1 NOT NULL,
    note text,
    context text,
    text_bytes integer DEFAULT 0 NOT NULL,
    CONSTRAINT resources_pkey PRIMARY KEY (id, kind)
);
CREATE INDEX IF NOT EXISTS resources_names ON resources (kind, is_live, name, id);
CREATE INDEX IF NOT EXISTS resources_created ON resources (kind, is_live, created_at, id);
CREATE INDEX IF NOT EXISTS resources_changed ON resources (kind, is_live, changed_at, id);
CREATE INDEX IF NOT EXISTS resources_removed ON resources (removed_at)
    WHERE removed_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS resource_labels (
    id uuid NOT NULL,
    kind smallint NOT NULL,
    source smallint NOT NULL,
    key text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    is_live boolean NOT NULL,
    CONSTRAINT resource_labels_pkey PRIMARY KEY (id, kind, source, key),
    CONSTRAINT resource_labels_resource_fkey FOREIGN KEY (id, kind)
        REFERENCES resources (id, kind) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS resource_labels_names
    ON resource_labels (kind, source, key, value, name, id) WHERE is_live;
CREATE INDEX IF NOT EXISTS resource_labels_created
    ON resource_labels (kind, source, key, value, created_at, id) WHERE is_live;
CREATE INDEX IF NOT EXISTS resource_labels_changed
    ON resource_labels (kind, source, key, value, changed_at, id) WHERE is_live;
"""

# The kind is the argument of the trigger. A row that a deletion meets may not be there yet while
# the rows of before are still copied.
_KEEP = """
CREATE OR REPLACE FUNCTION keep_resource() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    entry_kind smallint := TG_ARGV[0];
    ended_at timestamptz;
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO resources (id, kind, name, created_at, changed_at, deleted_at, removed_at)
        VALUES (OLD.id, entry_kind, OLD.name, OLD.created_at, OLD.created_at, now(), now())
        ON CONFLICT (id, kind) DO UPDATE SET
            deleted_at = coalesce(resources.deleted_at, now()), removed_at = now(),
            number = resources.number + 1;
        RETURN NULL;
    END IF;
    IF TG_TABLE_NAME = 'datasets' THEN
        ended_at := NEW.deleted_at;
    ELSIF TG_TABLE_NAME = 'ingest_tokens' THEN
        ended_at := NEW.revoked_at;
    END IF;
    INSERT INTO resources (id, kind, name, created_at, changed_at, deleted_at)
    VALUES (NEW.id, entry_kind, NEW.name, NEW.created_at, NEW.created_at, ended_at)
    ON CONFLICT (id, kind) DO UPDATE SET
        name = excluded.name, deleted_at = excluded.deleted_at, removed_at = NULL,
        changed_at = CASE WHEN resources.name = excluded.name THEN resources.changed_at
                     ELSE greatest(resources.changed_at, now()) END,
        number = resources.number + 1
    WHERE resources.name <> excluded.name OR resources.removed_at IS NOT NULL
       OR resources.deleted_at IS DISTINCT FROM excluded.deleted_at;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION note_resource_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE resources SET changed_at = greatest(changed_at, NEW.updated_at), number = number + 1
    WHERE id = NEW.entry_id;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION keep_resource_labels() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE resource_labels
    SET name = NEW.name, changed_at = NEW.changed_at, is_live = NEW.deleted_at IS NULL
    WHERE id = NEW.id AND kind = NEW.kind;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER keep_labels AFTER UPDATE OF name, changed_at, deleted_at ON resources
    FOR EACH ROW WHEN (OLD.name <> NEW.name OR OLD.changed_at <> NEW.changed_at
        OR OLD.deleted_at IS DISTINCT FROM NEW.deleted_at)
    EXECUTE FUNCTION keep_resource_labels();
"""

# The trigger precedes the copies, and each of them leaves rows that it has written: so the table is
# locked for the trigger alone.
_TRIGGER = """
CREATE OR REPLACE TRIGGER keep_resource
    AFTER INSERT OR DELETE OR UPDATE OF {columns} ON {table}
    FOR EACH ROW EXECUTE FUNCTION keep_resource({kind})
"""
_COPY = """
WITH page AS (
    SELECT id, name, created_at, {ended} AS ended_at FROM {table}
    WHERE id > :last ORDER BY id LIMIT :most),
copied AS (
    INSERT INTO resources (id, kind, name, created_at, changed_at, deleted_at)
    SELECT p.id, {kind}, p.name, p.created_at, greatest(p.created_at, a.updated_at), p.ended_at
    FROM page p LEFT JOIN catalog_authors a ON a.entry_id = p.id
    ON CONFLICT DO NOTHING)
SELECT id FROM page ORDER BY id DESC LIMIT 1
"""
_ROWS_AT_ONCE = 5_000
_KINDS = (
    ("datasets", 1, "deleted_at", "name, deleted_at"),
    ("schemas", 3, "cast(NULL AS timestamptz)", "name"),
    ("views", 4, "cast(NULL AS timestamptz)", "name"),
    ("projections", 5, "cast(NULL AS timestamptz)", "name"),
    ("ingest_tokens", 6, "revoked_at", "name, revoked_at"),
)
_NOTE = """
CREATE OR REPLACE TRIGGER note_resource_change
    AFTER INSERT OR UPDATE OF updated_at ON catalog_authors
    FOR EACH ROW WHEN (NEW.updated_at IS NOT NULL) EXECUTE FUNCTION note_resource_change()
"""
# No server of an earlier release has ever used a database without datasets and servers.
_FINISH = """
UPDATE meta_state SET least_release = '0.4.0.dev0'
WHERE least_release IS NULL AND NOT EXISTS (SELECT FROM datasets)
  AND NOT EXISTS (SELECT FROM meta_servers)
"""


def upgrade() -> None:
    """Add the tables and fill them; servers of 0.3.0 write rows by the triggers."""
    op.execute(_FINISH)
    op.execute(_TABLES)
    op.execute(_KEEP)
    with op.get_context().autocommit_block():
        op.execute(_NOTE)
        for table, kind, ended, columns in _KINDS:
            op.execute(_TRIGGER.format(table=table, kind=kind, columns=columns))
            _copy(text(_COPY.format(table=table, kind=kind, ended=ended)))


def _copy(statement: TextClause) -> None:
    """Copy the rows of a table in their order, a page a transaction."""
    last: UUID | None = UUID(int=0)
    while last is not None:
        values = {"last": last, "most": _ROWS_AT_ONCE}
        last = op.get_bind().execute(statement, values).scalar_one_or_none()
