"""Damage and losses: streams that wait, what was given up or replayed, and checks of objects."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    SmallInteger,
    Table,
    Text,
    Uuid,
)

from meta.store.tables.columns import metadata, now

# The lowest baby segment that a stream cannot pass; without effect once it is merged.
parked_streams = Table(
    "parked_streams",
    metadata,
    Column("stream_id", Uuid, primary_key=True),
    Column("offset", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    now("parked_at"),
)

# The loss ledger, kept permanently: records that an operator has accepted to lose.
losses = Table(
    "losses",
    metadata,
    Column("id", Uuid, primary_key=True),
    # A LossKind.
    Column("kind", SmallInteger, nullable=False),
    Column("stream_id", Uuid),
    Column("offset", BigInteger),
    # Null if the baby segment had no stamps.
    Column("dataset_id", Uuid),
    Column("segment_id", Uuid),
    Column("object_key", Text),
    # Null if it is not known.
    Column("records", BigInteger),
    # The version from which they are missing.
    Column("version", BigInteger, nullable=False),
    now("lost_at"),
    Column("actor", Text, nullable=False),
    Column("reason", Text, nullable=False),
    # The version from which they are back.
    Column("withdrawn_version", BigInteger),
)

# Payloads of the quarantine that an operator has decided on, kept permanently: a nursery may put
# the same payload there again.
replays = Table(
    "replays",
    metadata,
    Column("object_key", Text(collation="C"), primary_key=True),
    # A ReplayState.
    Column("state", SmallInteger, nullable=False),
    # The dataset that a replay goes to, from its beginning on.
    Column("dataset_id", Uuid),
    # The version at which its records are visible, or are lost.
    Column("version", BigInteger),
    Column("segment_ids", ARRAY(Uuid)),
    Column("actor", Text, nullable=False),
    Column("reason", Text, nullable=False),
    now("changed_at"),
)

# Offsets whose schema violations are in the quarantine, by the verdict that the keys of
# their objects end with. Written by the registration of the others, and kept permanently: objects
# of another verdict are left by a nursery that died or was overtaken.
quarantined_ranges = Table(
    "quarantined_ranges",
    metadata,
    Column("stream_id", Uuid, primary_key=True),
    Column("verdict", Text(collation="C"), primary_key=True),
    Column("first_offset", BigInteger, primary_key=True),
    Column("last_offset", BigInteger, nullable=False),
    # Null = not known.
    Column("dataset_id", Uuid),
)

# Objects that two fresh reads found damaged, until a read finds them sound or nothing needs them.
damaged_objects = Table(
    "damaged_objects",
    metadata,
    Column("object_key", Text(collation="C"), primary_key=True),
    Column("damage", Text, nullable=False),
    now("found_at"),
)

# One row: the janitor's.
scrub_state = Table(
    "scrub_state",
    metadata,
    Column("name", Text, primary_key=True),
    Column("checked_through", Text(collation="C"), nullable=False),
    # Objects of the pass that began at began_at.
    Column("objects", BigInteger, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("is_complete", Boolean, nullable=False),
    now("began_at"),
    # The janitor that scrubs, and until when no other one does.
    Column("holder", Text),
    Column("lease_until", DateTime(timezone=True)),
)
