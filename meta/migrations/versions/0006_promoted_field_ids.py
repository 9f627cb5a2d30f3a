"""The Parquet field ids of promoted columns: one for each definition that a dataset ever had.

Servers of 0.1.0 that run beside this release promote columns without an id; such a column gets one
when the list is set again.
"""

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Create the table, and number the columns that there are in their order."""
    op.execute(
        "CREATE TABLE promoted_field_ids ("
        " dataset_id UUID NOT NULL,"
        " field_id INTEGER NOT NULL,"
        " name TEXT NOT NULL,"
        " type SMALLINT NOT NULL,"
        " scope SMALLINT NOT NULL,"
        " attribute TEXT NOT NULL,"
        " CONSTRAINT promoted_field_ids_pkey PRIMARY KEY (dataset_id, field_id),"
        " CONSTRAINT promoted_field_ids_dataset_id_name_type_scope_attribute_unique"
        "  UNIQUE (dataset_id, name, type, scope, attribute),"
        " CONSTRAINT promoted_field_ids_dataset_id_fkey"
        "  FOREIGN KEY(dataset_id) REFERENCES datasets (id))"
    )
    # Even numbers from 1,000 on: the odd one behind is for a datetime's remainder.
    op.execute(
        "INSERT INTO promoted_field_ids (dataset_id, field_id, name, type, scope, attribute)"
        " SELECT dataset_id,"
        "  998 + 2 * row_number() OVER (PARTITION BY dataset_id ORDER BY position),"
        "  name, type, scope, attribute FROM promoted_columns"
    )
