"""Datasets and what describes them: settings, schemas, views, projections."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Integer,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)

from meta.store.tables.columns import metadata, moment, now, tenant_key

datasets = Table(
    "datasets",
    metadata,
    Column("id", Uuid, primary_key=True),
    # Short key of the segments table.
    Column("key", Integer, Identity(always=True), nullable=False, unique=True),
    # Unique in its group; NULL = the default group.
    Column("name", Text, nullable=False),
    Column("group_id", Uuid, ForeignKey("groups.id")),
    Column("title", Text, nullable=False, server_default=text("''")),
    Column("is_default", Boolean, nullable=False, server_default=text("false")),
    now("created_at"),
    moment("deleted_at"),
    # Set once the grace is over and the segments are being tombstoned: no undelete any more.
    moment("purged_at"),
    # Versions below it may have lost objects: FindSegments answers VERSION_EXPIRED.
    Column("deletion_horizon", BigInteger, nullable=False, server_default=text("0")),
    # The horizon as pins know it. If it differs, a server that knows no pins has raised the other:
    # pins below that one are void.
    Column("pins_horizon", BigInteger),
    Column("event_retention_secs", BigInteger),
    Column("created_retention_secs", BigInteger),
    Column("tombstone_grace_secs", BigInteger),
    Column("records_per_month", BigInteger, nullable=False, server_default=text("0")),
    # Last version at which something a nursery reads of the dataset changed.
    Column("changed_version", BigInteger, nullable=False, server_default=text("0")),
    # Limits that collectors apply to each ingest token; 0 = their default.
    Column("ingest_bytes_per_sec", BigInteger, nullable=False, server_default=text("0")),
    Column("ingest_exports_in_flight", BigInteger, nullable=False, server_default=text("0")),
    Column("ingest_memory_bytes", BigInteger, nullable=False, server_default=text("0")),
    Column("event_age_max_secs", BigInteger, nullable=False, server_default=text("0")),
    Column("event_lead_max_secs", BigInteger, nullable=False, server_default=text("0")),
    # Settings for objects that clients register without facts; "" = timestamp.
    Column("refuses_foreign", Boolean, nullable=False, server_default=text("false")),
    Column("foreign_time_column", Text, nullable=False, server_default=text("''")),
    # Treatment of records that violate the schema: 0 null, 2 quarantine, 3 reject.
    Column("schema_violations", SmallInteger, nullable=False, server_default=text("0")),
    # Name of the store of its new segments; "" = the default store.
    Column("store", Text, nullable=False, server_default=text("''")),
    # Field ids of the bound columns that it has now, which each new segment must have; NULL = none.
    Column("bound_field_ids", ARRAY(Integer)),
    # The number of the rule of its deduplication keys, NULL = none, and their column.
    Column("deduplication_rule", BigInteger),
    Column("deduplication_column", Text, nullable=False, server_default=text("''")),
    # The unit of times that are numbers in JSON records: a number of TimestampUnit.
    Column("timestamp_unit", SmallInteger, nullable=False, server_default=text("0")),
    # Nanoseconds that readers add to the times of records on request.
    Column("time_adjustment_nanos", BigInteger, nullable=False, server_default=text("0")),
    # Whether new segments have automatic columns, and readers use those that segments have.
    Column("has_automatic_columns", Boolean, nullable=False, server_default=text("false")),
    # The end of its lock, infinity while it has none; null = it never had a lock.
    moment("hold_ends_at"),
    # Whether a deleted dataset's objects stay: a meta.store.deletion.kept_files.KeptFilesState.
    Column("kept_files", SmallInteger, nullable=False, server_default=text("0")),
    # The last vacuum made tombstones of before this time, and up to this version, due.
    moment("vacuum_before"),
    Column("vacuum_version", BigInteger),
    # It rises with each change of the name, the title, the group or the tenant, by a trigger.
    Column("name_number", BigInteger, nullable=False, server_default=text("1")),
    # The number whose name the bucket has; -1 = none, NULL = `catalog reconcile` reads it there.
    Column("noted_number", BigInteger, server_default=text("-1")),
    tenant_key(),
    # Version of the last move to another tenant; 0 = there was none.
    Column("moved_version", BigInteger, nullable=False, server_default=text("0")),
)


# Versions [from_version, to_version) at which a dataset's segments are visible.
dataset_visibility = Table(
    "dataset_visibility",
    metadata,
    Column("dataset_key", Integer, ForeignKey("datasets.key"), primary_key=True),
    Column("from_version", BigInteger, primary_key=True),
    Column("to_version", BigInteger),
    # The dataset's name and group then; without a name, those of today.
    Column("name", Text),
    Column("group_id", Uuid, ForeignKey("groups.id")),
    # When the versions began; NULL = unknown.
    Column("from_time", DateTime(timezone=True), server_default=text("clock_timestamp()")),
    tenant_key(),
)

sharding_fields = Table(
    "sharding_fields",
    metadata,
    Column("dataset_id", Uuid, ForeignKey("datasets.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("field_name", Text, nullable=False),
    Column("weight", Double, nullable=False),
)

promoted_columns = Table(
    "promoted_columns",
    metadata,
    Column("dataset_id", Uuid, ForeignKey("datasets.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("type", SmallInteger, nullable=False),
    Column("scope", SmallInteger, nullable=False),
    Column("attribute", Text, nullable=False),
    # A column of the schema that the dataset is bound to.
    Column("is_of_schema", Boolean, nullable=False, server_default=text("false")),
)

# One row for each promoted column that a dataset ever had, kept permanently: an id that segments
# carry is never given to another column, and a column that comes back gets its own again.
promoted_field_ids = Table(
    "promoted_field_ids",
    metadata,
    Column("dataset_id", Uuid, ForeignKey("datasets.id"), primary_key=True),
    Column("field_id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("type", SmallInteger, nullable=False),
    Column("scope", SmallInteger, nullable=False),
    Column("attribute", Text, nullable=False),
    # It was a column of a bound schema: null permanently in segments that lack it.
    Column("is_bound", Boolean, nullable=False, server_default=text("false")),
    # The Parquet field id of a column that had another name before; NULL = field_id.
    Column("column_id", Integer),
)

# Hidden columns over attributes of records that a dataset has or had, kept permanently: an id that
# segments carry is never given to another column.
automatic_columns = Table(
    "automatic_columns",
    metadata,
    Column("dataset_id", Uuid, ForeignKey("datasets.id"), primary_key=True),
    Column("field_id", Integer, primary_key=True, autoincrement=False),
    Column("attribute", Text, nullable=False),
    Column("type", SmallInteger, nullable=False),
    # New segments have it.
    Column("is_written", Boolean, nullable=False),
)

# The promoted columns that a dataset had before a version, by their ids and in order.
former_layouts = Table(
    "former_layouts",
    metadata,
    Column("dataset_id", Uuid, ForeignKey("datasets.id"), primary_key=True),
    Column("until_version", BigInteger, primary_key=True, autoincrement=False),
    Column("field_ids", ARRAY(Integer), nullable=False),
    # Those of them that were bound then; null in rows of releases that did not tell.
    Column("bound_ids", ARRAY(Integer)),
)

schemas = Table(
    "schemas",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    now("created_at"),
    # Rises with every change of the columns.
    Column("version", Integer, nullable=False, server_default=text("1")),
    Column("is_frozen", Boolean, nullable=False, server_default=text("false")),
    tenant_key(),
)

# The columns of the versions before the current one, in order.
schema_versions = Table(
    "schema_versions",
    metadata,
    Column("schema_id", Uuid, ForeignKey("schemas.id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("names", ARRAY(Text), nullable=False),
    Column("types", ARRAY(SmallInteger), nullable=False),
    now("replaced_at"),
    # The columns that have other names in the next version, and these names; NULL = none.
    Column("renamed", ARRAY(Text)),
    Column("new_names", ARRAY(Text)),
)

# The schema whose columns a dataset has as typed columns; columns that are not named here read the
# record's attribute of their own name.
schema_bindings = Table(
    "schema_bindings",
    metadata,
    Column("dataset_id", Uuid, ForeignKey("datasets.id"), primary_key=True),
    Column("schema_id", Uuid, ForeignKey("schemas.id"), nullable=False, index=True),
    # NULL = the newest.
    Column("version", Integer),
    Column("names", ARRAY(Text), nullable=False),
    Column("scopes", ARRAY(SmallInteger), nullable=False),
    Column("attributes", ARRAY(Text), nullable=False),
)

schema_columns = Table(
    "schema_columns",
    metadata,
    Column("schema_id", Uuid, ForeignKey("schemas.id", ondelete="CASCADE"), primary_key=True),
    # Rises with every addition and is never reused; columns are read in this order.
    Column("position", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("type", SmallInteger, nullable=False),
)

views = Table(
    "views",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("description", Text),
    Column("schema_id", Uuid, ForeignKey("schemas.id"), index=True),
    now("created_at"),
    tenant_key(),
)

projections = Table(
    "projections",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("projection", Text, key="expression", nullable=False),
    Column("schema_id", Uuid, ForeignKey("schemas.id"), index=True),
    now("created_at"),
    tenant_key(),
)

view_dataset_projections = Table(
    "view_dataset_projections",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("view_id", Uuid, ForeignKey("views.id", ondelete="CASCADE"), nullable=False),
    Column("dataset_id", Uuid, ForeignKey("datasets.id"), nullable=False, index=True),
    Column(
        "projection_id",
        Uuid,
        ForeignKey("projections.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    tenant_key(),
)

# The promoted columns that a link reads of its dataset, and the columns that it yields. A link that
# an older release made has no rows and was not checked.
link_columns = Table(
    "link_columns",
    metadata,
    Column(
        "link_id",
        Uuid,
        ForeignKey("view_dataset_projections.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    # 0: it reads a promoted column; 1: it yields a column; 2: it yields a promoted one as it is.
    Column("kind", SmallInteger, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("type", SmallInteger, nullable=False),
)
