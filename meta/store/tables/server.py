"""The server's own state, what operators did, and the processes that are alive."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Identity,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.sql import func

from meta.store.tables.columns import metadata, moment, now, tenant_key

# One row. `version` is the commit-ordered counter; timeline and system_identifier tell a failover.
meta_state = Table(
    "meta_state",
    metadata,
    Column("id", SmallInteger, primary_key=True, autoincrement=False, server_default=text("1")),
    Column("version", BigInteger, nullable=False, server_default=text("0")),
    # Versions in (gap_start, gap_end] were jumped over and answer VERSION_EXPIRED.
    Column("gap_start", BigInteger, nullable=False, server_default=text("0")),
    Column("gap_end", BigInteger, nullable=False, server_default=text("0")),
    Column("timeline", BigInteger),
    Column("system_identifier", Text),
    Column("deletion_held", Boolean, nullable=False, server_default=text("false")),
    # Below them GetOffsetsAt and since_seq answer VERSION_EXPIRED: rows they need are pruned.
    Column("history_floor", BigInteger, nullable=False, server_default=text("0")),
    Column("removals_floor", BigInteger, nullable=False, server_default=text("0")),
    # No version above the ceiling is drawn, and none by an incarnation of the database that is not
    # compared with the witness; null = the database has no witness.
    Column("ceiling", BigInteger),
    Column("incarnation", Text),
    # HMAC key for ingest tokens if no META_TOKEN_PEPPER is set.
    Column("token_pepper", LargeBinary, nullable=False),
    # A meta of a lower release does not serve the database; null = any may.
    Column("least_release", Text),
    postgresql_with={"fillfactor": "10"},
)

# The metas that serve the database, a row for each start of a process.
meta_servers = Table(
    "meta_servers",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("host", Text, nullable=False),
    Column("release", Text, nullable=False),
    Column("started_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("seen_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)

# Processes by kind, name, start and subject, with their last reports; times are the database's.
processes = Table(
    "processes",
    metadata,
    Column("kind", Text(collation="C"), primary_key=True),
    Column("name", Text(collation="C"), primary_key=True),
    Column("started_at_nanos", BigInteger, primary_key=True),
    Column("subject", Text(collation="C"), primary_key=True),
    Column("report", LargeBinary, nullable=False),
    Column("is_ended", Boolean, nullable=False),
    Column("clock_skew_nanos", BigInteger, nullable=False),
    Column("credential_ends_at_nanos", BigInteger, nullable=False),
    Column("first_seen_nanos", BigInteger, nullable=False),
    Column("last_seen_nanos", BigInteger, nullable=False),
    postgresql_with={"fillfactor": "50"},
)

# The datasets whose times to visibility are counted, up to a version.
measured_datasets = Table(
    "measured_datasets",
    metadata,
    Column("dataset_id", Uuid, primary_key=True),
    Column("counted_version", BigInteger, nullable=False),
    postgresql_with={"fillfactor": "50"},
)

# Flushes that became visible in ten minutes, by bucket of the time from their commit.
visibility_counts = Table(
    "visibility_counts",
    metadata,
    Column("dataset_id", Uuid, primary_key=True),
    Column("period_at", DateTime(timezone=True), primary_key=True),
    Column("bucket", SmallInteger, primary_key=True),
    Column("flushes", BigInteger, nullable=False),
    postgresql_with={"fillfactor": "50"},
)

# Named stores, as servers were configured with them when they started. A page of segments that a
# server puts together in SQL needs all of them.
object_stores = Table(
    "object_stores",
    metadata,
    Column("name", Text, primary_key=True),
    Column("url", Text, nullable=False),
)

# One row, which is compared with the witness in the bucket; see meta.store.versions.witness_state.
witness_state = Table(
    "witness_state",
    metadata,
    Column("id", SmallInteger, primary_key=True, autoincrement=False, server_default=text("1")),
    # Rises with every revocation, and every few seconds while anything else commits.
    Column("tick", BigInteger, nullable=False, server_default=text("0")),
    Column("tick_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    # Null = no witness was ever kept. The number is the highest that is known to be written.
    Column("history", BigInteger),
    Column("number", BigInteger, nullable=False, server_default=text("0")),
    # The term in which versions are drawn, and the one that is about to begin.
    Column("term", Uuid),
    Column("next_term", Uuid),
    # A newer history in the bucket that another database began; null = none was seen.
    Column("superseded_by", BigInteger),
    Column("restored_at", DateTime(timezone=True)),
    Column("restored_reason", Text, nullable=False, server_default=text("''")),
    # The restored_at of a restore that was reconciled with the bucket.
    Column("reconciled_at", DateTime(timezone=True)),
)

# Gaps of earlier failovers and restores; meta_state has the newest one.
version_gaps = Table(
    "version_gaps",
    metadata,
    Column("gap_start", BigInteger, primary_key=True, autoincrement=False),
    Column("gap_end", BigInteger, nullable=False),
)

audit_log = Table(
    "audit_log",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now(), index=True),
    Column("rpc", Text, nullable=False),
    Column("subject_id", Text, nullable=False),
    Column("detail", Text, nullable=False),
    # The caller's principal; "" before this was kept.
    Column("principal", Text, nullable=False, server_default=text("''")),
    # The caller's host, and the x-request-id of the call; "" = the server did it itself, or none
    # was sent.
    Column("host", Text, nullable=False, server_default=text("''")),
    Column("request_id", Text, nullable=False, server_default=text("''")),
    tenant_key(),
)

# The authors of an entry of the catalog: of its creation, change and end; null if unknown.
catalog_authors = Table(
    "catalog_authors",
    metadata,
    Column("entry_id", Uuid, primary_key=True),
    Column("created_by", Text),
    Column("created_at", DateTime(timezone=True)),
    Column("updated_by", Text),
    Column("updated_at", DateTime(timezone=True)),
    Column("deleted_by", Text),
    Column("deleted_at", DateTime(timezone=True)),
)

# Quotas of creators by their subjects, "" = the default of all; -1 = unlimited, 0 = the default.
creator_quotas = Table(
    "creator_quotas",
    metadata,
    Column("creator", Text, primary_key=True),
    Column("datasets", BigInteger, nullable=False),
    Column("records_per_month", BigInteger, nullable=False),
)

# Denied calls, added up by minute: at most some 1,000 rows a minute and 100,000 in all.
denied_calls = Table(
    "denied_calls",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("minute", DateTime(timezone=True), nullable=False),
    Column("host", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("calls", BigInteger, nullable=False),
)

access_tokens = Table(
    "access_tokens",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("subject", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("hint", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("expires_at", DateTime(timezone=True)),
    Column("revoked_at", DateTime(timezone=True)),
    # The datasets that its holder may see; null = all.
    Column("dataset_ids", ARRAY(Uuid)),
    # Fingerprint of the pepper of the digest; "" = not known.
    Column("pepper", Text, nullable=False, server_default=text("''")),
    tenant_key(),
)

# One row: until when a server has seen the clock advance as its own; null before the first one.
clock_state = Table(
    "clock_state",
    metadata,
    Column("id", SmallInteger, primary_key=True, autoincrement=False, server_default=text("1")),
    moment("observed_at"),
)

# Stretches of the clock that no age counts: steps forward, and times without a server.
clock_gaps = Table(
    "clock_gaps",
    metadata,
    Column("gap_end", DateTime(timezone=True), primary_key=True),
    Column("gap_start", DateTime(timezone=True), nullable=False),
)

nurseries = Table(
    "nurseries",
    metadata,
    # Name that the nursery has given itself, unique to its process.
    Column("id", Text, primary_key=True),
    # Its shards are free from then on.
    Column("lease_until", DateTime(timezone=True), nullable=False),
)

# A shard without a row is free.
nursery_shards = Table(
    "nursery_shards",
    metadata,
    Column("shard", SmallInteger, primary_key=True, autoincrement=False),
    Column("nursery_id", Text, ForeignKey("nurseries.id", ondelete="CASCADE"), nullable=False),
)

workers = Table(
    "workers",
    metadata,
    # The worker_id of its DownloadConfig.
    Column("id", Text(collation="C"), primary_key=True),
    now("first_seen_at"),
    now("last_seen_at"),
)

worker_settings = Table(
    "worker_settings",
    metadata,
    # A worker_id, or the beginning of worker_ids followed by an asterisk.
    Column("name", Text(collation="C"), primary_key=True),
    # The fields of WorkerSettings that are set.
    Column("settings", JSONB, nullable=False),
    now("updated_at"),
)
