"""Segments: claiming their object keys, inserting and reading their rows and kept messages.

A registration takes three steps, so that the version can be drawn last: `claim` locks the datasets
and the object keys, the caller draws the version, `insert` writes the rows at it.

A row keeps the unchanging part of its segment's message, in protobuf's wire format: a page of
segments is put together from these bytes, without a message object for each. They hold the fields
of `meta.v1.SegmentInfo` that are fixed when a segment is registered, but for its version, which is
drawn later, and the store's location, which belongs to the server. The first two fields are those
of its object key, prefix and name, because the location stands around them.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import text

from meta.errors import KeyTaken, MetaError, ObjectCondemned, RaceLost
from meta.store.catalog import datasets
from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.segments import object_keys, stats
from meta.store.segments.object_keys import Identity, State
from meta.store.versions.versions import Version
from segments.facts.feature import NO_FACTS, Facts
from segments.ids import new_uuid7
from segments.protowire import LENGTH_DELIMITED, VARINT, nanos_varint, varint

# Numbers of CloudObjectPrefix.prefix and CloudObjectKey.key.
PREFIX, NAME = 2, 2
_ID, _TIME_RANGE, _SIZE, _COMPRESSED, _EVENTS, _DATASET, _MERGE_COUNT = 1, 2, 3, 4, 5, 6, 102
_WRITTEN_FACTS = 110
_START, _END = 1, 2
DURATION_CLASS_MAX = 17
_CLASS_ZERO_NANOS = 1_000_000_000


class SegmentRow(NamedTuple):
    """A registered segment; without a tombstone_version it is live.

    Times are nanoseconds, both ends inclusive. A tuple with ids as text, because a page of segments
    has thousands.
    """

    id: str
    dataset_id: str
    start_ns: int
    end_ns: int
    size_bytes: int
    compressed_size_bytes: int
    number_of_events: int
    prefix: str
    object_name: str
    created_version: int
    tombstone_version: int | None
    merge_count: int
    # A serialized SegmentFacts; None if its writer did not say, b"" if its footer does not
    # say either.
    facts: bytes | None = None
    # CRC-32C of the object; None while it is not known.
    crc32c: int | None = None
    # A serialized ForeignFile; None if it is a segment.
    foreign_file: bytes | None = None


# The columns of table `segments`.
STORED_COLUMNS = ", ".join(name for name in SegmentRow._fields if name != "dataset_id")
_AS_TEXT = {"id": "s.id::text", "dataset_id": "d.id::text"}
# The row's values, from a segment `s` and its dataset `d`.
ROW_COLUMNS = ", ".join(_AS_TEXT.get(name, f"s.{name}") for name in SegmentRow._fields)
NUM_COLUMNS = len(SegmentRow._fields)
# Made once: a batch of registrations writes thousands of fields.
_PREFIX_TAG, _NAME_TAG, _ID_TAG, _TIME_RANGE_TAG, _DATASET_TAG, _WRITTEN_FACTS_TAG = (
    varint(n << 3 | LENGTH_DELIMITED)
    for n in (PREFIX, NAME, _ID, _TIME_RANGE, _DATASET, _WRITTEN_FACTS)
)
_START_TAG, _END_TAG, _SIZE_TAG, _COMPRESSED_TAG, _EVENTS_TAG, _MERGE_COUNT_TAG = (
    varint(n << 3 | VARINT) for n in (_START, _END, _SIZE, _COMPRESSED, _EVENTS, _MERGE_COUNT)
)


def write_message(
    segment_id: UUID | str,
    dataset_id: UUID | str,
    times: tuple[int, int],
    sizes: tuple[int, int, int],
    key: tuple[str, str],
    merge_count: int,
) -> bytes:
    """The bytes of a segment without written facts; times in nanoseconds, both ends inclusive.

    `sizes` are bytes, compressed bytes and events; `key` is the prefix and the name of its object.
    """
    size_bytes, compressed_size_bytes, number_of_events = sizes
    start_ns, end_ns = times
    name, own_id = key[1].encode(), str(segment_id).encode()
    # An absent number means zero.
    range_bytes = (_START_TAG + nanos_varint(start_ns) if start_ns else b"") + (
        _END_TAG + nanos_varint(end_ns) if end_ns else b""
    )
    return b"".join(
        (
            _prefix_field(key[0]),
            _NAME_TAG,
            varint(len(name)),
            name,
            _ID_TAG,
            varint(len(own_id)),
            own_id,
            _TIME_RANGE_TAG,
            varint(len(range_bytes)),
            range_bytes,
            _SIZE_TAG + varint(size_bytes) if size_bytes else b"",
            _COMPRESSED_TAG + varint(compressed_size_bytes) if compressed_size_bytes else b"",
            _EVENTS_TAG + varint(number_of_events) if number_of_events else b"",
            _dataset_field(dataset_id),
            _MERGE_COUNT_TAG + varint(merge_count) if merge_count else b"",
        )
    )


# The same datasets come again and again, and so do the prefixes of their objects.
@lru_cache(maxsize=4_096)
def _prefix_field(prefix: str) -> bytes:
    value = prefix.rstrip("/").encode()
    return _PREFIX_TAG + varint(len(value)) + value


@lru_cache(maxsize=4_096)
def _dataset_field(dataset_id: UUID | str) -> bytes:
    value = str(dataset_id).encode()
    return _DATASET_TAG + varint(len(value)) + value


class NewSegment(NamedTuple):
    """A complete object that waits to be registered; times in nanoseconds, range closed.

    `prefix` and `object_name` are as its writer sent them, `object_key` is the two joined. `facts`
    is a serialized SegmentFacts, and `signals` has bit n set if there are records of signal n.
    `crc32c` is that of the object's bytes; None = its writer does not know it.
    `promoted_field_ids` are those of its facts. The kept message ends with the `written` facts,
    which only features open (`segments.facts`).
    """

    dataset_id: UUID
    start_ns: int
    end_ns: int
    size_bytes: int
    compressed_size_bytes: int
    number_of_events: int
    prefix: str
    object_name: str
    object_key: str
    facts: bytes | None = None
    signals: int | None = None
    format_version: int | None = None
    crc32c: int | None = None
    promoted_field_ids: tuple[int, ...] = ()
    written: Facts = NO_FACTS


class Claim(NamedTuple):
    """One object key after `claim`: new, the same registration again, or refused."""

    new: NewSegment
    segment_id: UUID
    dataset_key: int
    # The version at which an earlier call registered the same segment; None = this one does.
    registered_at: Version | None = None
    refusal: MetaError | None = None


_BY_IDS = text(f"""
    SELECT {ROW_COLUMNS} FROM segments s JOIN datasets d ON d.key = s.dataset_key
    WHERE s.id = ANY(:ids) ORDER BY s.id
""")  # noqa: S608
# Arrays travel as literals: see meta.store.engine.pg_arrays.
INSERT = """
    INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version, size_bytes,
      compressed_size_bytes, number_of_events, prefix, object_name, merge_count, facts, signals,
      format_version, crc32c, message)
    SELECT new.id, new.key, new.dur_class, new.start_ns, new.end_ns, {version}, new.size,
      new.compressed, new.events, new.prefix, new.name, :merge_count, new.facts, new.signals,
      new.format, new.crc, new.message
    FROM {first} unnest(cast(:ids AS uuid[]), cast(:keys AS integer[]),
        cast(:dur_classes AS smallint[]), cast(:segment_starts AS bigint[]),
        cast(:segment_ends AS bigint[]), cast(:sizes AS bigint[]),
        cast(:compressed_sizes AS bigint[]), cast(:events AS integer[]), cast(:prefixes AS text[]),
        cast(:names AS text[]), cast(:facts AS bytea[]), cast(:signals AS smallint[]),
        cast(:formats AS integer[]), cast(:checksums AS bigint[]),
        cast(:messages AS bytea[]))
      AS new (id, key, dur_class, start_ns, end_ns, size, compressed, events, prefix, name, facts,
              signals, format, crc, message)
"""
_INSERT = text(INSERT.format(version="cast(:version AS bigint)", first=""))


def claim(
    tx: Transaction, new: Sequence[NewSegment], dataset_keys: Mapping[UUID, int] | None = None
) -> tuple[Claim, ...]:
    """Lock the datasets and claim the object keys, which must differ; answers in order.

    A refused key is in its claim and not raised, so that calls that share a transaction can
    be answered one by one; `release` takes the others of a refused call back. Raises NotFound for
    a dataset that is not live. `dataset_keys` are those of datasets that the caller has locked.
    """
    keys = dataset_keys
    if keys is None:
        keys = datasets.lock_shared(tx, [segment.dataset_id for segment in new])
    ids = [new_uuid7() for _ in new]
    mine = object_keys.register(tx, [segment.object_key for segment in new], ids)
    registered = object_keys.find(tx, [s.object_key for s in new if s.object_key not in mine])
    known_ids = [i.segment_id for i in registered.values() if i.segment_id]
    rows = {UUID(row.id): row for row in get_many(tx, known_ids)}
    claims = []
    for segment, segment_id in zip(new, ids, strict=True):
        claimed = Claim(segment, segment_id, keys[segment.dataset_id])
        if segment.object_key not in mine:
            claimed = _known(claimed, registered.get(segment.object_key), rows)
        claims.append(claimed)
    return tuple(claims)


def raise_refusal(claims: Sequence[Claim]) -> None:
    """Raise the first refusal, if any."""
    for claimed in claims:
        if claimed.refusal is not None:
            raise claimed.refusal


def release(tx: Transaction, claims: Sequence[Claim]) -> None:
    """Delete what `claim` inserted for a call that is refused for another reason."""
    object_keys.forget(tx, [c.new.object_key for c in claims if _is_new(c)])


def insert(
    tx: Transaction, claims: Sequence[Claim], version: Version, *, merge_count: int = 0
) -> None:
    """Write the rows of the new claims, visible from `version`, and count them."""
    new = [claimed for claimed in claims if _is_new(claimed)]
    if new:
        tx.execute(_INSERT, {**columns(new, merge_count), "version": version})
        stats.add(tx, counted(new))


def counted(claims: Sequence[Claim]) -> list[stats.Change]:
    """The increments of the counters by new claims."""
    return [
        stats.Change(
            dataset_key=claimed.dataset_key,
            live_segments=1,
            live_size_bytes=claimed.new.size_bytes,
            live_compressed_size_bytes=claimed.new.compressed_size_bytes,
            all_segments=1,
            live_records=claimed.new.number_of_events,
        )
        for claimed in claims
        if _is_new(claimed)
    ]


def columns(claims: Sequence[Claim], merge_count: int = 0) -> dict[str, object]:
    """The parameters of INSERT for new claims, but for the version."""
    fresh = [claimed for claimed in claims if _is_new(claimed)]
    new = [claimed.new for claimed in fresh]
    durations = [duration_class(segment.start_ns, segment.end_ns) for segment in new]
    return {
        "ids": pg_arrays.uuids([claimed.segment_id for claimed in fresh]),
        "keys": pg_arrays.numbers([claimed.dataset_key for claimed in fresh]),
        "dur_classes": pg_arrays.numbers(durations),
        "segment_starts": pg_arrays.numbers([s.start_ns for s in new]),
        "segment_ends": pg_arrays.numbers([s.end_ns for s in new]),
        "sizes": pg_arrays.numbers([s.size_bytes for s in new]),
        "compressed_sizes": pg_arrays.numbers([s.compressed_size_bytes for s in new]),
        "events": pg_arrays.numbers([s.number_of_events for s in new]),
        "prefixes": pg_arrays.quoted([s.prefix for s in new]),
        "names": pg_arrays.quoted([s.object_name for s in new]),
        "merge_count": merge_count,
        "facts": pg_arrays.bytes_or_none([s.facts for s in new]),
        "signals": pg_arrays.numbers_or_null([s.signals for s in new]),
        "formats": pg_arrays.numbers_or_null([s.format_version for s in new]),
        "checksums": pg_arrays.numbers_or_null([s.crc32c for s in new]),
        "messages": pg_arrays.bytes_or_none([_message(claimed, merge_count) for claimed in fresh]),
    }


def get_many(tx: Transaction, ids: Sequence[UUID]) -> list[SegmentRow]:
    """The segments that exist, tombstoned ones too, by id."""
    if not ids:
        return []
    return list(map(SegmentRow._make, tx.execute(_BY_IDS, {"ids": list(ids)})))


def duration_class(start_ns: int, end_ns: int) -> int:
    """The smallest c >= 0 with end - start < 4^c seconds; never above DURATION_CLASS_MAX."""
    seconds = (end_ns - start_ns) // _CLASS_ZERO_NANOS
    return (seconds.bit_length() + 1) // 2


def class_span_nanos(duration: int) -> int:
    """A segment of this duration class is shorter than this."""
    return int(4**duration) * _CLASS_ZERO_NANOS


def _message(claimed: Claim, merge_count: int) -> bytes:
    new = claimed.new
    message = write_message(
        claimed.segment_id,
        new.dataset_id,
        (new.start_ns, new.end_ns),
        (new.size_bytes, new.compressed_size_bytes, new.number_of_events),
        (new.prefix, new.object_name),
        merge_count,
    )
    if not new.written:
        return message
    return message + _WRITTEN_FACTS_TAG + varint(len(new.written)) + new.written


def _is_new(claimed: Claim) -> bool:
    return claimed.refusal is None and claimed.registered_at is None


def _known(claimed: Claim, identity: Identity | None, rows: dict[UUID, SegmentRow]) -> Claim:
    """Resolve a claim whose object key has a row already."""
    new = claimed.new
    refusal: MetaError
    if identity is None:
        # The key's row expired between two statements; the next try inserts it.
        refusal = RaceLost("the object key was forgotten meanwhile", object_key=new.object_key)
    elif identity.state is not State.REGISTERED:
        refusal = ObjectCondemned("the object was declared garbage", object_key=new.object_key)
    else:
        segment = rows.get(identity.segment_id) if identity.segment_id else None
        if segment is not None and _is_same(segment, new):
            version = Version(segment.created_version)
            return Claim(new, UUID(segment.id), claimed.dataset_key, registered_at=version)
        refusal = KeyTaken(
            "the object key is registered with other facts",
            object_key=new.object_key,
            segment_id=identity.segment_id,
        )
    return Claim(new, claimed.segment_id, claimed.dataset_key, refusal=refusal)


def _is_same(segment: SegmentRow, new: NewSegment) -> bool:
    # The key is the same already, however the two split it.
    return (
        segment.dataset_id == str(new.dataset_id)
        and segment.start_ns == new.start_ns
        and segment.end_ns == new.end_ns
        and segment.size_bytes == new.size_bytes
        and segment.compressed_size_bytes == new.compressed_size_bytes
        and segment.number_of_events == new.number_of_events
        # Workers of a release that knows no facts may repeat a call of another one; nor does the
        # checksum count, which is filled in later if it is missing.
        and (not segment.facts or not new.facts or segment.facts == new.facts)
    )
