"""Ingest tokens, streams, baby segments, and how far each dataset has merged them."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)

from meta.store.tables.columns import metadata, moment, now, tenant_key

ingest_tokens = Table(
    "ingest_tokens",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    # HMAC-SHA256 of the plaintext, which is stored nowhere.
    Column("digest", LargeBinary, nullable=False, unique=True),
    # Fingerprint of the pepper of the digest; "" = not known.
    Column("pepper", Text, nullable=False, server_default=text("''")),
    Column("hint", Text, nullable=False),
    Column("logs_dataset_id", Uuid, ForeignKey("datasets.id")),
    Column("traces_dataset_id", Uuid, ForeignKey("datasets.id")),
    Column("metrics_dataset_id", Uuid, ForeignKey("datasets.id")),
    now("created_at"),
    moment("revoked_at"),
    # Last version at which its routing changed or it was revoked.
    Column("changed_version", BigInteger, nullable=False, server_default=text("0")),
    tenant_key(),
)

ingest_streams = Table(
    "ingest_streams",
    metadata,
    Column("id", Uuid, primary_key=True),
    # The principal precedes it, if the stream has one: meta/store/streams/streams.py.
    Column("collector_id", Text, nullable=False),
    Column("collector_string", Text, nullable=False),
    # Evenly spread in [0, 2^31); shard = shard_hash % shard_count.
    Column("shard_hash", Integer, nullable=False),
    now("created_at"),
    Column("stopped_at_nanos", BigInteger),
    Column("stopped_offset", BigInteger),
    Column("stop_reason", SmallInteger),
    Column("deleted_offset", BigInteger, nullable=False, server_default=text("-1")),
    Column("deleted_ingest_time_nanos", BigInteger, nullable=False, server_default=text("0")),
    # Stopped, without entries and reaped to the end; kept 7 days.
    moment("retired_at"),
    # The owner's principal; "" = it has no owner.
    Column("principal", Text, nullable=False, server_default=text("''")),
    # Last version at which something a nursery reads of the stream changed.
    Column("changed_version", BigInteger, nullable=False, server_default=text("0")),
)

# The hot half of a stream. CommitOffset updates it in place: HOT while the one indexed column,
# is_pending, keeps its value.
stream_heads = Table(
    "stream_heads",
    metadata,
    Column("stream_id", Uuid, primary_key=True),
    Column("committed_offset", BigInteger, nullable=False, server_default=text("-1")),
    now("last_activity_at"),
    # Here as well as in ingest_streams, because CommitOffset locks and reads this row only.
    Column("is_stopped", Boolean, nullable=False, server_default=text("false")),
    # Some entry may have unmerged babies; a steady poll looks at these streams only. Set by
    # commits, cleared by the sweeper.
    Column("is_pending", Boolean, nullable=False, server_default=text("false")),
    # Rises whenever an entry of the stream is removed: how a batch of commits, which checks for
    # entries and locks the head in one statement, knows that it saw them as they are.
    Column("removal_count", BigInteger, nullable=False, server_default=text("0")),
    # Up to here every entry has merged all that may be its own: where a search for more begins.
    Column("merged_floor", BigInteger, nullable=False, server_default=text("-1")),
    postgresql_with={"fillfactor": "50"},
)

baby_segments = Table(
    "baby_segments",
    metadata,
    Column("stream_id", Uuid, primary_key=True),
    Column("offset", BigInteger, primary_key=True),
    Column("start_ns", BigInteger, nullable=False),
    Column("end_ns", BigInteger, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("num_records", BigInteger, nullable=False),
    Column("flush_id", LargeBinary),
    # Stamped datasets; null for an unstamped baby.
    Column("dataset_ids", ARRAY(Uuid)),
    now("committed_at"),
    # When the baby was reaped; its row stays 24 h longer.
    moment("reaped_at"),
    # CRC-32C of the object; null if it is not known yet.
    Column("crc32c", BigInteger),
    # When the object was read for it, if its writer did not send it.
    moment("crc32c_read_at"),
)

stream_tokens = Table(
    "stream_tokens",
    metadata,
    Column("stream_id", Uuid, primary_key=True),
    Column("token_id", Uuid, primary_key=True),
    now("registered_at"),
    # The stream's committed offset when the token was revoked.
    Column("revoked_offset", BigInteger),
)

# Tokens whose streams do not all follow their routing yet; those up to last_stream_id do.
routing_changes = Table(
    "routing_changes",
    metadata,
    Column("token_id", Uuid, primary_key=True),
    Column("last_stream_id", Uuid, nullable=False),
    now("changed_at"),
)

# Routing of a token for babies of a stream from `from_offset` on, for unstamped babies.
routing_periods = Table(
    "routing_periods",
    metadata,
    Column("stream_id", Uuid, primary_key=True),
    Column("token_id", Uuid, primary_key=True),
    Column("from_offset", BigInteger, primary_key=True),
    Column("logs_dataset_id", Uuid),
    Column("traces_dataset_id", Uuid),
    Column("metrics_dataset_id", Uuid),
)

stream_datasets = Table(
    "stream_datasets",
    metadata,
    Column("stream_id", Uuid, primary_key=True),
    Column("dataset_id", Uuid, primary_key=True),
    Column("merged_offset", BigInteger, nullable=False),
    Column("merged_ingest_time_nanos", BigInteger, nullable=False, server_default=text("0")),
    # merged_offset when the entry was made: nothing at or below it is of this dataset, or all of
    # it was merged before an earlier entry went.
    Column("base_offset", BigInteger, nullable=False),
    now("created_at"),
    # Last version at which the entry changed.
    Column("changed_version", BigInteger, nullable=False),
    postgresql_with={"fillfactor": "70"},
)

# Streams and entries (dataset_id not null) that went away, so that a since_seq poll hears of it.
stream_removals = Table(
    "stream_removals",
    metadata,
    Column("version", BigInteger, primary_key=True),
    Column("stream_id", Uuid, primary_key=True),
    # The nil UUID: the whole stream.
    Column("dataset_id", Uuid, primary_key=True),
    Column("shard_hash", Integer, nullable=False),
    now("removed_at"),
)

# Append-only: at `version` exactly the offsets <= stream_offset are visible.
offset_checkpoints = Table(
    "offset_checkpoints",
    metadata,
    Column("stream_id", Uuid, primary_key=True),
    Column("dataset_id", Uuid, primary_key=True),
    Column("version", BigInteger, primary_key=True),
    Column("stream_offset", BigInteger, nullable=False),
    Column("ingest_timestamp_nanos", BigInteger, nullable=False),
    now("created_at"),
)

# Records committed per dataset and calendar month (UTC), for quotas.
dataset_usage = Table(
    "dataset_usage",
    metadata,
    Column("dataset_id", Uuid, primary_key=True),
    Column("month", Text, primary_key=True),
    # One per committer, so that they do not wait for one another; the sum counts.
    Column("slot", Integer, primary_key=True),
    Column("records", BigInteger, nullable=False),
    postgresql_with={"fillfactor": "50"},
)
