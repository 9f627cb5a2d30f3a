"""A database with 10 million segments, 120,000 streams, 10,000 tokens and 1,000 datasets."""

# ruff: noqa: S608

from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Database
from meta.store.segments.segments import write_message

DATASETS, SEGMENTS, STREAMS, TOKENS = 1_000, 10_000_000, 120_000, 10_000
HOUR_NANOS = 3_600_000_000_000
# Built anew after the rows, which takes a fraction of the time.
_INDEXES = """
    SELECT indexdef, format('DROP INDEX %I', indexname) FROM pg_indexes
    WHERE tablename = 'segments' AND indexname NOT IN (
      SELECT conname FROM pg_constraint WHERE conrelid = 'segments'::regclass)
"""
# Ids whose high half says the kind, so that rows refer to one another by number.
_ID = "('00000000-0000-000{kind}-0000-' || lpad(to_hex({n}), 12, '0'))::uuid"
_STREAM_ID = _ID.format(kind=0, n="n")
_DATASET_ID = _ID.format(kind=1, n="{n}")
_TOKEN_ID = _ID.format(kind=2, n="n")
_OWN = _DATASET_ID.format(n="1 + n % 1000")
_OTHER = _DATASET_ID.format(n="1 + (n + 500) % 1000")
# A baby segment of one stream in a hundred is not merged yet.
_IS_PENDING = "n % 100 = 6"
_FILL = (
    "UPDATE meta_state SET version = 1000",
    # Every hundredth dataset has a grace of a year.
    f"""
    INSERT INTO datasets (id, name, tombstone_grace_secs)
    SELECT {_DATASET_ID.format(n="n")}, 'dataset ' || n, CASE WHEN n % 100 = 0 THEN 31536000 END
    FROM generate_series(1, 1000) n
    """,
    "INSERT INTO dataset_stats (dataset_key) SELECT key FROM datasets ON CONFLICT DO NOTHING",
    "INSERT INTO dataset_visibility (dataset_key, from_version)"
    " SELECT key, 0 FROM datasets ON CONFLICT DO NOTHING",
    # A tenth are tombstones inside their grace; one in a hundred is small enough to be merged.
    f"""
    INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version,
        tombstone_version, tombstone_at, size_bytes, compressed_size_bytes, number_of_events,
        prefix, object_name, message)
    SELECT gen_random_uuid(), d.key, 6, n * {HOUR_NANOS}, (n + 1) * {HOUR_NANOS}, 1,
        CASE WHEN n % 10 = 0 THEN 2 END, CASE WHEN n % 10 = 0 THEN now() END,
        1000000000, CASE WHEN n % 100 = 1 THEN 1000000 ELSE 300000000 END, 1000000,
        'dataset/' || d.id || '/merged', n || '.parquet', :message
    FROM generate_series(1, :segments / 1000) n, datasets d WHERE d.name LIKE 'dataset %'
    """,
    f"""
    INSERT INTO ingest_tokens (id, name, digest, hint, logs_dataset_id)
    SELECT {_TOKEN_ID}, 'token ' || n, decode(lpad(to_hex(n), 64, '0'), 'hex'), 'hint', {_OWN}
    FROM generate_series(1, :tokens) n
    """,
    f"""
    INSERT INTO ingest_streams (id, collector_id, collector_string, shard_hash)
    SELECT {_STREAM_ID}, n::text, '', n FROM generate_series(1, :streams) n
    """,
    f"""
    INSERT INTO stream_heads (stream_id, committed_offset, merged_floor, is_pending)
    SELECT {_STREAM_ID}, CASE WHEN {_IS_PENDING} THEN 4 ELSE 3 END, 3, {_IS_PENDING}
    FROM generate_series(1, :streams) n
    """,
    f"""
    INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset, changed_version)
    SELECT {_STREAM_ID}, d, 3, -1, 0
    FROM generate_series(1, :streams) n, unnest(ARRAY[{_OWN}, {_OTHER}]) d
    """,
    f"""
    INSERT INTO offset_checkpoints
        (stream_id, dataset_id, version, stream_offset, ingest_timestamp_nanos, created_at)
    SELECT {_STREAM_ID}, {_OWN}, v, v, 1, now() - (5 - v) * interval '5 minutes'
    FROM generate_series(1, :streams) n, generate_series(0, 3) v
    """,
    f"""
    INSERT INTO registrations
        (stream_id, dataset_id, start_offset, end_offset, ingest_time_nanos, version, segment_id)
    SELECT {_STREAM_ID}, {_OWN}, v - 1, v, 1, v, gen_random_uuid()
    FROM generate_series(1, :streams) n, generate_series(0, 3) v
    """,
    f"""
    INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes, num_records,
        dataset_ids)
    SELECT {_STREAM_ID}, o, 1, 2, 1000, 10, ARRAY[{_OWN}, {_OTHER}]
    FROM generate_series(1, :streams) n, generate_series(0, 4) o WHERE o < 4 OR {_IS_PENDING}
    """,
    f"""
    INSERT INTO routing_periods (stream_id, token_id, from_offset)
    SELECT {_STREAM_ID}, {_STREAM_ID}, 0 FROM generate_series(1, :streams) n
    """,
    """
    INSERT INTO merge_tasks (id, dataset_key, output_merge_count, segment_count, smallest_size,
        largest_size, smallest_compressed_size, largest_compressed_size, total_size,
        total_compressed_size, start_ns, end_ns)
    SELECT gen_random_uuid(), key, 1, 1, 1, 1, 1, 1, 1, n, 1, 1
    FROM generate_series(1, :tokens) n, datasets WHERE name = 'dataset 8'
    """,
    f"""
    INSERT INTO dataset_usage (dataset_id, month, slot, records)
    SELECT {_DATASET_ID.format(n="n")}, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM'), s, 1
    FROM generate_series(1, 1000) n, generate_series(1, 2) s
    """,
)


def fill(database: Database, percent: int) -> int:
    """Write the rows, a share of the documented numbers; returns the size of the database."""
    numbers = {"segments": SEGMENTS, "streams": STREAMS, "tokens": TOKENS}
    values: dict[str, object] = {n: number * percent // 100 for n, number in numbers.items()}
    # Pages are put together from these bytes as they are, so one message serves all rows.
    values["message"] = write_message(
        UUID(int=1),
        UUID(int=2),
        (0, 1),
        (10**9, 3 * 10**8, 10**6),
        ("dataset/merged", "1.parquet"),
        0,
    )
    with database.single() as tx:
        tx.execute(text("SET statement_timeout = 0"))
        tx.execute(text("SET maintenance_work_mem = '512MB'"))
        indexes = tx.execute(text(_INDEXES)).all()
        for _, drop in indexes:
            tx.exec_driver_sql(drop)
        for statement in _FILL:
            own = {name: value for name, value in values.items() if f":{name}" in statement}
            tx.execute(text(statement), own)
        for create, _ in indexes:
            tx.exec_driver_sql(create)
        tx.execute(text("VACUUM ANALYZE"))
        tx.execute(text("RESET statement_timeout"))
        size = tx.execute(text("SELECT pg_database_size(current_database())"))
        return int(size.scalar_one())
