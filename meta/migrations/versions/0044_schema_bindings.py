"""Versions of schemas, datasets that are bound to one, and the columns of datasets at versions."""

from alembic import op

revision = "0044"
down_revision = "0043"


def upgrade() -> None:
    """Add tables and columns with constant defaults.

    A server of 0.2.0 that changes a schema makes no version of it, and one that sets a dataset's
    promoted columns drops the bound ones until the dataset is bound again.
    """
    op.execute("ALTER TABLE schemas ADD COLUMN version INTEGER NOT NULL DEFAULT 1")
    op.execute("ALTER TABLE schemas ADD COLUMN is_frozen BOOLEAN NOT NULL DEFAULT false")
    op.execute("""
        CREATE TABLE schema_versions (
          schema_id UUID NOT NULL REFERENCES schemas (id) ON DELETE CASCADE,
          version INTEGER NOT NULL,
          names TEXT[] NOT NULL,
          types SMALLINT[] NOT NULL,
          replaced_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
          PRIMARY KEY (schema_id, version)
        )
    """)
    op.execute("""
        CREATE TABLE schema_bindings (
          dataset_id UUID PRIMARY KEY REFERENCES datasets (id),
          schema_id UUID NOT NULL REFERENCES schemas (id),
          version INTEGER,
          names TEXT[] NOT NULL,
          scopes SMALLINT[] NOT NULL,
          attributes TEXT[] NOT NULL
        )
    """)
    op.execute("CREATE INDEX schema_bindings_schema_id_index ON schema_bindings (schema_id)")
    op.execute(
        "ALTER TABLE promoted_columns ADD COLUMN is_of_schema BOOLEAN NOT NULL DEFAULT false"
    )
    op.execute("ALTER TABLE promoted_field_ids ADD COLUMN is_bound BOOLEAN NOT NULL DEFAULT false")
    op.execute("ALTER TABLE datasets ADD COLUMN bound_field_ids INTEGER[]")
    op.execute("""
        CREATE TABLE former_layouts (
          dataset_id UUID NOT NULL REFERENCES datasets (id),
          until_version BIGINT NOT NULL,
          field_ids INTEGER[] NOT NULL,
          PRIMARY KEY (dataset_id, until_version)
        )
    """)
