"""Deduplication keys that datasets have claimed, in runs by day."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Identity,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from meta.store.tables.columns import metadata, now

# Tables for days that are over: a day has the one of its number modulo this.
SLOTS = 32

# Datasets in which each event is a row once; the row is locked by each claim.
dataset_deduplication = Table(
    "dataset_deduplication",
    metadata,
    Column("dataset_key", Integer, primary_key=True, autoincrement=False),
    # Days for which a deduplication key is kept, by the time of its event.
    Column("days", SmallInteger, nullable=False),
    # Secret of the hashes that are kept: no sender can choose the page that a deduplication key is
    # in.
    Column("key", LargeBinary, nullable=False, server_default=text("''")),
    # Whether events of other days are refused.
    Column("refuses_outside", Boolean, nullable=False, server_default=text("false")),
)

# The ledger's entry of records that were skipped because they were rows already; kept permanently.
dataset_duplicates = Table(
    "dataset_duplicates",
    metadata,
    Column("dataset_key", Integer, primary_key=True, autoincrement=False),
    Column("records", BigInteger, nullable=False),
)

# Sorted hashes of one day of a dataset, in 2^bits pages by their first bits.
deduplication_runs = Table(
    "deduplication_runs",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    # Random: no other run has it, as one might have the id after a restore.
    Column("uid", Uuid, nullable=False, server_default=text("gen_random_uuid()")),
    Column("dataset_key", Integer, nullable=False),
    # Since the epoch.
    Column("day", Integer, nullable=False),
    Column("tier", SmallInteger, nullable=False),
    Column("bits", SmallInteger, nullable=False),
    Column("deduplication_keys", BigInteger, nullable=False),
    # The run is in the table of young pages; others are in that of their day.
    Column("is_young", Boolean, nullable=False),
    # Its tier has as many runs as are merged into one.
    Column("is_due", Boolean, nullable=False),
)

# Parts of a registration's deduplication keys that came before it; they are not claimed yet.
staged_deduplication_keys = Table(
    "staged_deduplication_keys",
    metadata,
    Column("staged_id", Uuid, nullable=False),
    Column("part", SmallInteger, nullable=False),
    # Days since the epoch, and how many of the hashes are of each.
    Column("days", ARRAY(Integer), nullable=False),
    Column("numbers", ARRAY(Integer), nullable=False),
    Column("hashes", LargeBinary, nullable=False),
    now("staged_at"),
    PrimaryKeyConstraint("staged_id", "part"),
)


def _pages(name: str) -> Table:
    """A table of the pages of runs; the hashes of one are in order."""
    return Table(
        name,
        metadata,
        Column("run", BigInteger, nullable=False),
        Column("bucket", Integer, nullable=False),
        Column("hashes", ARRAY(Uuid), nullable=False),
        PrimaryKeyConstraint("run", "bucket"),
    )


young_deduplication_pages = _pages("deduplication_pages")
day_deduplication_pages = tuple(_pages(f"deduplication_pages_{slot:02}") for slot in range(SLOTS))
