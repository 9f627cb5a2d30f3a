"""Merged segments, the claims on object keys, and the lineage of records."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Identity,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)

from meta.store.tables.columns import metadata, moment, now

# The claims on object keys. The one unique index that Register, Complete, Save and Condemn share.
object_identities = Table(
    "object_identities",
    metadata,
    Column("object_key", Text(collation="C"), primary_key=True),
    # 1 registered, 2 condemned, 3 deleted.
    Column("state", SmallInteger, nullable=False),
    Column("segment_id", Uuid),
    now("changed_at"),
)

segments = Table(
    "segments",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("dataset_key", Integer, nullable=False),
    # Smallest c >= 0 with end_ns - start_ns < 4^c * 10^9.
    Column("dur_class", SmallInteger, nullable=False),
    Column("start_ns", BigInteger, nullable=False),
    Column("end_ns", BigInteger, nullable=False),
    Column("created_version", BigInteger, nullable=False),
    Column("tombstone_version", BigInteger),
    moment("tombstone_at"),
    now("created_at"),
    Column("size_bytes", BigInteger, nullable=False),
    Column("compressed_size_bytes", BigInteger, nullable=False),
    Column("number_of_events", Integer, nullable=False),
    # As the writer sent them; object_identities holds the joined key.
    Column("prefix", Text, nullable=False),
    Column("object_name", Text, nullable=False),
    # Merges between the nursery's segment and this one.
    Column("merge_count", SmallInteger, nullable=False, server_default=text("0")),
    # Excluded from merging: a merge could not read it; an operator releases it. 0.1.0 named the
    # column, which is shared with its servers.
    moment("quarantined_at", key="excluded_at"),
    # A serialized SegmentFacts; null if the writer did not say, empty if the object's footer was
    # read later and does not say either.
    Column("facts", LargeBinary),
    # Bit n is set if there are records of signal n; null if that is not known.
    Column("signals", SmallInteger),
    # The format that its writer named; null if it named none.
    Column("format_version", Integer),
    # CRC-32C of the object; null if it is not known yet.
    Column("crc32c", BigInteger),
    # When the object was read for it, if its writer did not send it.
    moment("crc32c_read_at"),
    # A ForeignState: set where a client registered it without facts; null if it is a segment.
    Column("foreign_state", SmallInteger),
    # A serialized ForeignFile with the same state; null if that is.
    Column("foreign_file", LargeBinary),
    # The part of its message that never changes (meta.store.segments.segments). Never null since
    # revision 0049, though the column may be.
    Column("message", LargeBinary),
)

# The babies that a nursery's segment holds; kept while a descendant lives.
registrations = Table(
    "registrations",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("stream_id", Uuid, nullable=False),
    Column("dataset_id", Uuid, nullable=False),
    # Offsets (start_offset, end_offset].
    Column("start_offset", BigInteger, nullable=False),
    Column("end_offset", BigInteger, nullable=False),
    Column("ingest_time_nanos", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    # Null if the babies held nothing for the dataset.
    Column("segment_id", Uuid),
    # 0.1.0 and a rebuild: one per further segment of the same call.
    Column("part", SmallInteger, nullable=False, server_default=text("0")),
    now("created_at"),
    # The stored offset of the entry, if start_offset was implied beyond it.
    Column("moved_from", BigInteger),
)

# The further segments of a registration of several (other UTC days), by its first one.
registration_segments = Table(
    "registration_segments",
    metadata,
    Column("first_segment_id", Uuid, primary_key=True),
    Column("segment_id", Uuid, primary_key=True),
)

# The segment whose merge took a segment in. A row goes once nothing lives that holds the input.
segment_lineage = Table(
    "segment_lineage",
    metadata,
    Column("input_id", Uuid, primary_key=True),
    Column("output_id", Uuid, primary_key=True),
)

# Segments that are gone without a successor: their lineage is to be forgotten.
lineage_ends = Table(
    "lineage_ends",
    metadata,
    Column("segment_id", Uuid, primary_key=True),
)

# Datasets of which nothing more is deleted until an operator allows it, and the held segments.
deletion_brakes = Table(
    "deletion_brakes",
    metadata,
    Column("dataset_key", Integer, primary_key=True, autoincrement=False),
    # Null once it is released.
    moment("braked_at"),
    Column("segments", BigInteger, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("live_size_bytes", BigInteger, nullable=False),
    # Segments that were tombstoned up to it may be deleted.
    Column("released_version", BigInteger, nullable=False, server_default=text("0")),
)

# Per dataset the retention whose deletions are not losses, and the one that was seen in force last;
# seconds, 0 = none.
retention_baselines = Table(
    "retention_baselines",
    metadata,
    Column("dataset_key", Integer, primary_key=True, autoincrement=False),
    Column("event_secs", BigInteger, nullable=False, server_default=text("0")),
    Column("created_secs", BigInteger, nullable=False, server_default=text("0")),
    Column("seen_event_secs", BigInteger, nullable=False, server_default=text("0")),
    Column("seen_created_secs", BigInteger, nullable=False, server_default=text("0")),
    now("seen_since"),
)

# Requests to delete what is older than a time, below the grace of its dataset too.
vacuums = Table(
    "vacuums",
    metadata,
    # Chosen by the caller, so that a repeated call is recognised.
    Column("id", Uuid, primary_key=True),
    # Null = all datasets.
    Column("dataset_key", Integer),
    Column("older_than_secs", BigInteger, nullable=False),
    now("requested_at"),
    # When the versions of its last dataset had expired; null = the caller has not come so far.
    moment("planned_at"),
    # When a janitor last began to carry it out.
    moment("taken_at"),
    moment("finished_at"),
    # Deleted since the request; orphans are reported when it is finished.
    Column("segments", BigInteger, nullable=False, server_default=text("0")),
    Column("segment_bytes", BigInteger, nullable=False, server_default=text("0")),
    Column("table_objects", BigInteger, nullable=False, server_default=text("0")),
    Column("table_bytes", BigInteger, nullable=False, server_default=text("0")),
    Column("orphans", BigInteger, nullable=False, server_default=text("0")),
    Column("orphan_bytes", BigInteger, nullable=False, server_default=text("0")),
    Column("orphans_left", BigInteger, nullable=False, server_default=text("0")),
)

# Maintained counters, for GetJanitorStats and GetDatasetNumbers.
dataset_stats = Table(
    "dataset_stats",
    metadata,
    Column("dataset_key", Integer, primary_key=True, autoincrement=False),
    Column("live_segments", BigInteger, nullable=False, server_default=text("0")),
    Column("live_size_bytes", BigInteger, nullable=False, server_default=text("0")),
    Column("live_compressed_size_bytes", BigInteger, nullable=False, server_default=text("0")),
    Column("all_segments", BigInteger, nullable=False, server_default=text("0")),
    Column("open_tasks", BigInteger, nullable=False, server_default=text("0")),
    # Events of live segments; wrong until they were counted, because 0.3.0 does not keep it.
    Column("live_records", BigInteger, nullable=False, server_default=text("0")),
    Column("records_counted", Boolean, nullable=False, server_default=text("false")),
    postgresql_with={"fillfactor": "50"},
)

# Events that registrations may hold beyond their baby segments' records; each takes its excess.
excess_allowances = Table(
    "excess_allowances",
    metadata,
    Column("dataset_id", Uuid, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("events", BigInteger, nullable=False),
)
