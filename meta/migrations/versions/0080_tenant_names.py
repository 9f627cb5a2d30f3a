"""Numbers of the names of tenants, versions of moves, and an index of the datasets of a tenant."""

from alembic import op

revision = "0080"
down_revision = "0079"

# The name of `default` never changes, and the bucket has no object of it.
_TENANTS = """
ALTER TABLE tenants ADD COLUMN IF NOT EXISTS name_number bigint DEFAULT 1 NOT NULL,
    ADD COLUMN IF NOT EXISTS noted_number bigint DEFAULT -1 NOT NULL;
UPDATE tenants SET noted_number = name_number WHERE key = 0;
CREATE INDEX IF NOT EXISTS tenants_unnoted_index ON tenants (name_number)
    WHERE purged_at IS NULL AND noted_number <> name_number
       OR purged_at IS NOT NULL AND noted_number >= 0;
CREATE OR REPLACE TRIGGER number_name BEFORE UPDATE OF name, suspended_at, deleted_at ON tenants
    FOR EACH ROW WHEN ((OLD.name, OLD.suspended_at, OLD.deleted_at)
        IS DISTINCT FROM (NEW.name, NEW.suspended_at, NEW.deleted_at))
    EXECUTE FUNCTION number_name();
"""
# As in 0076, with the tenant.
_DATASETS = """
ALTER TABLE datasets ADD COLUMN IF NOT EXISTS moved_version bigint DEFAULT 0 NOT NULL;
CREATE OR REPLACE TRIGGER number_name BEFORE UPDATE OF name, title, group_id, tenant_key ON datasets
    FOR EACH ROW WHEN ((OLD.name, OLD.title, OLD.group_id, OLD.tenant_key)
        IS DISTINCT FROM (NEW.name, NEW.title, NEW.group_id, NEW.tenant_key))
    EXECUTE FUNCTION number_name();
"""


def upgrade() -> None:
    """Add columns with constant defaults; build the index beside readers and writers."""
    op.execute(_TENANTS)
    op.execute(_DATASETS)
    with op.get_context().autocommit_block():
        # One that an interruption left is not valid.
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS datasets_tenant_keys")
        op.execute("CREATE INDEX CONCURRENTLY datasets_tenant_keys ON datasets (tenant_key, key)")
