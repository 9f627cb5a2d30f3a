"""Resources of all kinds with their notes and contexts, and the rows by which lists are filtered.

Triggers keep the rows: a row follows its dataset, schema, view, projection or ingest token, so that
servers of the release before and a rebuild of the catalog write them too.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Computed,
    DateTime,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)

from meta.store.tables.columns import metadata, moment, tenant_key

resources = Table(
    "resources",
    metadata,
    Column("id", Uuid, nullable=False),
    # A number of the contract's ResourceKind.
    Column("kind", SmallInteger, nullable=False),
    Column("name", Text(collation="C"), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("changed_at", DateTime(timezone=True), nullable=False),
    # Deleted, or revoked.
    moment("deleted_at"),
    # When the row of the entry itself went.
    moment("removed_at"),
    Column("is_live", Boolean, Computed("deleted_at IS NULL", persisted=True), nullable=False),
    # Rises with every change.
    Column("number", BigInteger, nullable=False, server_default=text("1")),
    Column("note", Text),
    # A JSON object as it was sent.
    Column("context", Text),
    # Bytes of note, context and labels in a message.
    Column("text_bytes", Integer, nullable=False, server_default=text("0")),
    # The group of a dataset; NULL = the default one.
    Column("group_id", Uuid),
    tenant_key(),
    PrimaryKeyConstraint("id", "kind"),
)

# Labels, and the members of contexts that lists may be filtered by, with what lists are ordered by.
resource_labels = Table(
    "resource_labels",
    metadata,
    Column("id", Uuid, nullable=False),
    Column("kind", SmallInteger, nullable=False),
    # 0: a label; 1: a member of the context.
    Column("source", SmallInteger, nullable=False),
    Column("key", Text(collation="C"), nullable=False),
    Column("value", Text(collation="C"), nullable=False),
    Column("name", Text(collation="C"), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("changed_at", DateTime(timezone=True), nullable=False),
    Column("is_live", Boolean, nullable=False),
    tenant_key(),
    PrimaryKeyConstraint("id", "kind", "source", "key"),
    ForeignKeyConstraint(
        ["id", "kind"],
        ["resources.id", "resources.kind"],
        name="resource_labels_resource_fkey",
        ondelete="CASCADE",
    ),
)
