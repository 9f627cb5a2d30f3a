"""Loads many segments at once: binary COPY into a table without indexes, which are built after it.

The history grows at one rate, `SEGMENTS_PER_DAY`: ten million segments are a thousand days. So a
window of a day finds about as much in a short history as in a long one. The datasets are skewed
(Zipf), durations spread evenly over their logarithms from a second to a day.
"""

import bisect
import itertools
import math
import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

import psycopg

from meta.store.segments import segments
from segments.keys import store_folder

SEGMENTS_PER_DAY = 10_000
DAY_NANOS = 86_400 * 10**9
NEWEST_NANOS = 1_790_000_000 * 10**9
_STEP_NANOS = DAY_NANOS // SEGMENTS_PER_DAY
_POSTGRES_EPOCH_SECS = 946_684_800
_KINDS = 1 << 16
_BLOCK_ROWS = 2_000
# Bytes, compressed bytes and events.
_SIZES = 4_000_000, 1_000_000, 10_000
_NAME_BYTES = len(".parquet") + 36
_COPY = (
    "COPY segments (id, dataset_key, dur_class, start_ns, end_ns, created_version, created_at,"
    " size_bytes, compressed_size_bytes, number_of_events, prefix, object_name, message)"
    " FROM STDIN (FORMAT binary, FREEZE)"
)
_HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_TRAILER = struct.pack(">h", -1)
_INDEXES = """
    SELECT c.relname, pg_get_indexdef(i.indexrelid)
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = 'segments'::regclass AND NOT i.indisprimary ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class LoadedDataset:
    """A dataset with the key of its rows."""

    key: int
    id: UUID
    name: str


def load(url: str, count: int, store: str = "") -> list[LoadedDataset]:
    """Fill `segments` with `count` rows of all datasets; returns these, the largest first.

    The objects are in the named store, "" = the default one.

    One transaction truncates, fills and indexes, so that no WAL is written where wal_level is
    minimal, and nothing is left to vacuum.
    """
    with psycopg.connect(url) as connection:
        connection.execute("SET maintenance_work_mem = '1GB'")
        datasets = [
            LoadedDataset(*row)
            for row in connection.execute("SELECT key, id, name FROM datasets ORDER BY key")
        ]
        indexes = connection.execute(_INDEXES).fetchall()
        connection.execute("TRUNCATE segments")
        connection.execute("ALTER TABLE segments DROP CONSTRAINT segments_pkey")
        for name, _ in indexes:
            connection.execute(f'DROP INDEX "{name}"')
        with connection.cursor().copy(_COPY) as copy:
            for block in _blocks(datasets, count, store):
                copy.write(block)
        connection.execute("ALTER TABLE segments ADD PRIMARY KEY (id)")
        for _, definition in indexes:
            connection.execute(definition)
        connection.execute("UPDATE meta_state SET version = version + %s", (count,))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE segments")
    return datasets


def _blocks(datasets: Sequence[LoadedDataset], count: int, store: str) -> Iterator[bytes]:
    yield _HEADER
    rows = _rows(datasets, count, f"/{store_folder(store)}".rstrip("/"))
    while block := b"".join(itertools.islice(rows, _BLOCK_ROWS)):
        yield block
    yield _TRAILER


def _rows(datasets: Sequence[LoadedDataset], count: int, folder: str) -> Iterator[bytes]:
    """Segments in the order of their creation, which is nearly that of their events."""
    rnd = random.Random(11)
    kinds = _kinds(datasets, rnd, folder)
    prefix_bytes = len(kinds[0][2])
    row, message_bytes = _row_of(prefix_bytes)
    first = NEWEST_NANOS - count * _STEP_NANOS
    pack, random_bits = row.pack, rnd.getrandbits
    for number in range(count):
        start = first + number * _STEP_NANOS
        key, dataset_id, prefix, duration, dur_class = kinds[number % _KINDS]
        millis = (start + duration) // 1_000_000
        low = random_bits(62) | 1 << 63
        identity = (millis << 80 | 7 << 76 | low).to_bytes(16, "big")
        # Cheaper than UUID(), and of the same length.
        name = f"{millis:012x}-7000-{low:016x}-0.parquet"
        times = start, start + duration
        message = segments.write_message(
            _uuid_text(identity.hex()), dataset_id, times, _SIZES, (prefix, name), 0
        )
        assert len(message) == message_bytes
        yield pack(
            *(13, 16, identity, 4, key, 2, dur_class, 8, start, 8, start + duration),
            *(8, number + 1, 8, 1_000 * (millis - 1_000 * _POSTGRES_EPOCH_SECS)),
            *(8, _SIZES[0], 8, _SIZES[1], 4, _SIZES[2]),
            *(prefix_bytes, prefix.encode(), _NAME_BYTES, name.encode()),
            *(message_bytes, message),
        )


def _row_of(prefix_bytes: int) -> tuple[struct.Struct, int]:
    """The form of a row, every field with its length before it, and the length of its message."""
    # Times of this century take nine bytes each.
    message_bytes = 2 + prefix_bytes + 2 + _NAME_BYTES + 38 + 22 + 5 + 4 + 3 + 38
    fields = f"{prefix_bytes}si{_NAME_BYTES}si{message_bytes}s"
    return struct.Struct(f">hi16siiihiqiqiqiqiqiqiii{fields}"), message_bytes


def _uuid_text(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _kinds(
    datasets: Sequence[LoadedDataset], rnd: random.Random, folder: str
) -> list[tuple[int, str, str, int, int]]:
    """Key, id, prefix, duration in nanoseconds and duration class, as often as they occur."""
    weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(datasets))))
    kinds = []
    for _ in range(_KINDS):
        dataset = datasets[bisect.bisect(weights, rnd.random() * weights[-1])]
        duration = int(10**9 * math.exp(rnd.random() * math.log(86_400)))
        dur_class = next(c for c in range(18) if duration < 4**c * 10**9)
        prefix = f"dataset/{dataset.id}/merged{folder}"
        kinds.append((dataset.key, str(dataset.id), prefix, duration, dur_class))
    return kinds
