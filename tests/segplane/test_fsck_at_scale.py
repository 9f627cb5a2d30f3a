"""fsck of ten million objects in a hundred thousand streams, in bounded memory.

FSCK_OBJECTS sets another number of objects, for a shorter run.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.support.fsck_listing import BABY, DATASET, NUM_STREAMS, SEGMENT, STREAM
from tests.support.meta.server import MetaServer

OBJECTS = int(os.environ.get("FSCK_OBJECTS", "10000000"))
PEAK_BYTES_MAX = 300_000_000
ROWS_AT_ONCE = 500_000

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7_200)]

_SEGMENT_ID = f"('{SEGMENT}' || lpad(to_hex(n), 12, '0'))::uuid"
_FILL_SEGMENTS = f"""
    WITH new AS (
        INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version,
            size_bytes, compressed_size_bytes, number_of_events, prefix, object_name)
        SELECT {_SEGMENT_ID}, %(key)s, 0, n, n, 1, 1000, 1000, 1, 'dataset/{DATASET}/merged',
               {_SEGMENT_ID} || '.parquet'
        FROM generate_series(%(first)s::bigint, %(last)s::bigint) n
        RETURNING id, prefix || '/' || object_name AS object_key)
    INSERT INTO object_identities (object_key, state, segment_id)
    SELECT object_key, 1, id FROM new
"""  # noqa: S608
_STREAM_ID = f"('{STREAM}' || lpad(to_hex(n), 12, '0'))::uuid"
_FILL_STREAMS = [
    f"""INSERT INTO ingest_streams (id, collector_id, collector_string, shard_hash)
        SELECT {_STREAM_ID}, n::text, '', n FROM generate_series(0, {NUM_STREAMS - 1}) n""",  # noqa: S608
    f"""INSERT INTO stream_heads (stream_id, committed_offset)
        SELECT {_STREAM_ID}, 0 FROM generate_series(0, {NUM_STREAMS - 1}) n""",  # noqa: S608
    f"""INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset,
            changed_version)
        SELECT {_STREAM_ID}, '{DATASET}', -1, -1, 1
        FROM generate_series(0, {NUM_STREAMS - 1}) n""",  # noqa: S608
    f"""INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes, num_records)
        SELECT {_STREAM_ID}, 0, 1, 1, {BABY}, 1
        FROM generate_series(0, {NUM_STREAMS - 1}) n""",  # noqa: S608
]


def fill(database_url: str, segments: int) -> None:
    """Write the rows of a catalog of that size."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        row = connection.execute(
            "INSERT INTO datasets (id, name) VALUES (%s, 'large') RETURNING key", (DATASET,)
        ).fetchone()
        assert row is not None
        for first in range(0, segments, ROWS_AT_ONCE):
            last = min(first + ROWS_AT_ONCE, segments) - 1
            connection.execute(_FILL_SEGMENTS, {"key": row[0], "first": first, "last": last})
        for statement in _FILL_STREAMS:
            connection.execute(statement)
        connection.execute(
            "INSERT INTO dataset_stats (dataset_key, live_segments, live_size_bytes,"
            " live_compressed_size_bytes, all_segments) VALUES (%s, %s, %s, %s, %s)",
            (row[0], segments, segments * 1_000, segments * 1_000, segments),
        )
        connection.execute("ANALYZE")


def resident_bytes() -> int:
    (line,) = (
        line for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line
    )
    return int(line.split()[1]) * 1_024


def test_fsck_of_many_objects_needs_little_memory(
    meta_server: MetaServer, database_url: str
) -> None:
    fill(database_url, OBJECTS)
    before = resident_bytes()

    done = subprocess.run(
        [sys.executable, "-m", "tests.support.fsck_listing", meta_server.address, str(OBJECTS)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    print(measured, resident_bytes() - before)
    # One object of the listing is missing. Nothing proves that another, which no row names, is
    # garbage.
    assert measured["objects"] == OBJECTS + NUM_STREAMS
    assert measured["segments"] == OBJECTS
    assert measured["babies"] == measured["streams"] == NUM_STREAMS
    assert (measured["num_violations"], measured["num_orphans"]) == (1, 0)
    assert measured["num_unknown"] == 1
    assert measured["peak_bytes"] < PEAK_BYTES_MAX
    assert resident_bytes() - before < PEAK_BYTES_MAX
