"""Numbers of the names of datasets and groups, and which of them the bucket has."""

from alembic import op

revision = "0076"
down_revision = "0075"

# Entries from before have the number 0, so that names that change meanwhile are noted first. Those
# that are gone by now have no object, and need none.
_COLUMNS = """
ALTER TABLE {table} ADD COLUMN name_number bigint DEFAULT 0 NOT NULL,
    ADD COLUMN noted_number bigint DEFAULT -1;
ALTER TABLE {table} ALTER COLUMN name_number SET DEFAULT 1;
CREATE INDEX {table}_unnoted_index ON {table} (name_number)
    WHERE {gone} IS NULL AND noted_number <> name_number OR {gone} IS NOT NULL AND noted_number >= 0;
"""
# A number has one content for good, whichever release of meta changes a name.
_NUMBERS = """
CREATE FUNCTION number_name() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.name_number := OLD.name_number + 1;
    RETURN NEW;
END $$;
CREATE TRIGGER number_name BEFORE UPDATE OF name, title, group_id ON datasets FOR EACH ROW
    WHEN ((OLD.name, OLD.title, OLD.group_id) IS DISTINCT FROM (NEW.name, NEW.title, NEW.group_id))
    EXECUTE FUNCTION number_name();
CREATE TRIGGER number_name BEFORE UPDATE OF name ON groups FOR EACH ROW
    WHEN (OLD.name IS DISTINCT FROM NEW.name) EXECUTE FUNCTION number_name();
"""


def upgrade() -> None:
    """Add the columns without writing rows; 100,000 datasets are indexed within a second."""
    op.execute(_COLUMNS.format(table="datasets", gone="purged_at"))
    op.execute(_COLUMNS.format(table="groups", gone="deleted_at"))
    op.execute(_NUMBERS)
