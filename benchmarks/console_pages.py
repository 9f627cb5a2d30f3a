"""CPU of the console's pages about the installation.

The database has 1,000,000 segments, 10,000 streams and 10,000 datasets.
Each figure is the CPU time of gateway, meta and Postgres together for one page, whose read nobody
shares: the median of several, after some that are not counted. A hundredth of the streams wait. The
plan of deletion is shared for a minute: the page is measured with a shared plan, and the read that
all viewers share for a minute has a figure without a bar.
"""

import re
import statistics
import time
from collections.abc import Mapping
from http.client import HTTPConnection

import psycopg

from benchmarks.harness.gateway import BenchGateway, bench_gateway
from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres, bench_server
from meta.store.segments.segments import write_message
from segplane.gateway.console.operate.shared_reads import SHARED_SECS
from segplane.gateway.console.sessions.codes import make_code

SEGMENTS, STREAMS, DATASETS = 1_000_000, 10_000, 10_000
CPU_MS_MAX = 150.0
WARM_CALLS, CALLS = 3, 7
_KEY = "of-the-benchmark-of-the-console-pages"
_HOUR_NANOS = 3_600 * 10**9
# Every hundredth stream waits, every tenth segment is deleted, every hundredth is small.
_FILL = (
    "UPDATE meta_state SET version = 1000",
    """
    INSERT INTO datasets (id, name)
    SELECT gen_random_uuid(), 'dataset ' || lpad(n::text, 5, '0')
    FROM generate_series(1, %(datasets)s) n
    """,
    """
    INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version,
        tombstone_version, tombstone_at, size_bytes, compressed_size_bytes, number_of_events,
        prefix, object_name)
    SELECT gen_random_uuid(), d.key, 6, n * %(hour)s, (n + 1) * %(hour)s, 1,
        CASE WHEN n %% 10 = 0 THEN 2 END, CASE WHEN n %% 10 = 0 THEN now() END,
        1000000000, CASE WHEN n %% 100 = 1 THEN 1000000 ELSE 300000000 END, 1000000,
        'dataset/' || d.id || '/merged', n || '.parquet'
    FROM generate_series(1, %(segments)s / %(datasets)s) n, datasets d
    WHERE d.name LIKE 'dataset %%'
    """,
    """
    INSERT INTO dataset_stats (dataset_key, live_segments, live_size_bytes,
        live_compressed_size_bytes, all_segments, records_counted)
    SELECT dataset_key, count(*), sum(size_bytes), sum(compressed_size_bytes), count(*), true
    FROM segments GROUP BY dataset_key
    ON CONFLICT (dataset_key) DO UPDATE SET live_segments = excluded.live_segments,
      live_size_bytes = excluded.live_size_bytes, all_segments = excluded.all_segments,
      live_compressed_size_bytes = excluded.live_compressed_size_bytes
    """,
    """
    INSERT INTO dataset_visibility (dataset_key, from_version)
    SELECT key, 0 FROM datasets ON CONFLICT DO NOTHING
    """,
    """
    INSERT INTO ingest_streams (id, collector_id, collector_string, shard_hash)
    SELECT gen_random_uuid(), 'collector-' || n, '', n FROM generate_series(1, %(streams)s) n
    """,
    """
    INSERT INTO stream_heads (stream_id, committed_offset, merged_floor, is_pending)
    SELECT id, 9, CASE WHEN shard_hash %% 100 = 0 THEN 3 ELSE 9 END, shard_hash %% 100 = 0
    FROM ingest_streams
    """,
    """
    INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset, changed_version)
    SELECT s.id, d.id, 3, -1, 0 FROM ingest_streams s
      CROSS JOIN LATERAL (SELECT key + o AS key FROM generate_series(0, 9) o,
        (SELECT min(key) AS key FROM datasets WHERE name LIKE 'dataset %%') m) k
      JOIN datasets d ON d.key = k.key + s.shard_hash %% (%(datasets)s - 10)
    """,
    """
    INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes, num_records,
        dataset_ids)
    SELECT e.stream_id, o, 1, 2, 1000000, 10, array_agg(e.dataset_id)
    FROM stream_datasets e JOIN ingest_streams s ON s.id = e.stream_id, generate_series(4, 9) o
    WHERE s.shard_hash %% 100 = 0 GROUP BY e.stream_id, o
    """,
    """
    INSERT INTO parked_streams (stream_id, "offset", reason, parked_at)
    SELECT id, 5, repeat('the object cannot be read ', 10), now() FROM ingest_streams
    WHERE shard_hash %% 1000 = 0
    """,
    """
    INSERT INTO merge_tasks (id, dataset_key, state, attempt, output_merge_count, segment_count,
        smallest_size, largest_size, smallest_compressed_size, largest_compressed_size, total_size,
        total_compressed_size, start_ns, end_ns, finished_at)
    SELECT gen_random_uuid(), d.key, CASE WHEN n %% 10 = 0 THEN 1 ELSE 2 END, 1, 1, 10, 1, 1, 1, 1,
      1000000000, 100000000, 1, 1, CASE WHEN n %% 10 > 0 THEN now() END
    FROM generate_series(1, 100000) n JOIN datasets d ON d.name = 'dataset ' || lpad(
      (1 + n %% %(datasets)s)::text, 5, '0')
    """,
    """
    INSERT INTO merge_attempts (task_id, attempt, worker_id, ended_at, outcome)
    SELECT id, 1, 'worker-' || left(id::text, 1), now(), 'completed' FROM merge_tasks
    WHERE state = 2
    """,
)
_SHOWN = """
    SELECT s.id, d.id, s.start_ns, s.end_ns, s.size_bytes, s.compressed_size_bytes,
      s.number_of_events, s.prefix, s.object_name
    FROM segments s JOIN datasets d ON d.key = s.dataset_key
    WHERE d.name BETWEEN 'dataset 00001' AND %s
"""
_PAGES = (
    *("/ui/", "/ui/pipeline", "/ui/streams", "/ui/merges", "/ui/deletion", "/ui/access"),
    *("/ui/dataset", "/ui/dataset/versions", "/ui/dataset/segments"),
)


def run() -> list[Result]:
    """Fill a database, then ask for each page."""
    settings = {"GATEWAY_CONSOLE": "true", "GATEWAY_CONSOLE_KEY": _KEY}
    with bench_postgres() as postgres, bench_server(postgres.url) as server:
        _fill(postgres.url)
        with bench_gateway(server.address, settings) as gateway:
            pids = (postgres.pid or 0, server.pid, gateway.pid)
            session = _log_in(gateway)
            plan_ms = _page_ms(gateway, session, "/ui/deletion", pids)
            figures = {path: _cpu_ms(gateway, session, path, pids) for path in _PAGES}
    plan_read = compare(
        "console_deletion_read",
        plan_ms,
        1.0,
        reference_name="no bar",
        unit=f"ms of CPU of the plan, once a minute for all viewers, of {SEGMENTS:,} segments",
    )
    return [
        plan_read,
        *(
            compare(
                f"console_{path.removeprefix('/ui/').replace('/', '_') or 'datasets'}",
                cpu_ms,
                CPU_MS_MAX,
                reference_name="the most allowed",
                unit=f"ms of CPU of gateway, meta and Postgres a page, of {SEGMENTS:,} segments",
                bar=1.0,
                higher_is_better=False,
            )
            for path, cpu_ms in figures.items()
        ),
    ]


def _fill(url: str) -> None:
    values = {
        "segments": SEGMENTS,
        "streams": STREAMS,
        "datasets": DATASETS,
        "hour": _HOUR_NANOS,
    }
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in _FILL:
            used = {name: value for name, value in values.items() if f"%({name})s" in statement}
            connection.execute(statement, used)
        _keep_messages(connection)
        connection.execute("VACUUM ANALYZE")


def _keep_messages(connection: psycopg.Connection) -> None:
    """Write the messages that replies are made of, of the datasets whose pages are asked for."""
    rows = connection.execute(_SHOWN, (f"dataset {WARM_CALLS + CALLS:05}",)).fetchall()
    messages = [
        (write_message(id_, dataset_id, (start, end), tuple(sizes), (prefix, name), 0), id_)
        for id_, dataset_id, start, end, *sizes, prefix, name in rows
    ]
    with connection.cursor() as cursor:
        cursor.executemany("UPDATE segments SET message = %s WHERE id = %s", messages)


def _log_in(gateway: BenchGateway) -> Mapping[str, str]:
    """Return the headers of a session."""
    # A code of the second in which the gateway started would be refused.
    time.sleep(1)
    code = make_code(_KEY, gateway.port, time.time())
    connection = gateway.connect()
    connection.request("GET", f"/ui/login?code={code}")
    reply = connection.getresponse()
    reply.read()
    cookies = [text.partition(";")[0] for text in reply.headers.get_all("set-cookie") or ()]
    return {"Cookie": "; ".join(cookie for cookie in cookies if not cookie.endswith("="))}


def _cpu_ms(
    gateway: BenchGateway, session: Mapping[str, str], path: str, pids: tuple[int, ...]
) -> float:
    address, figures = path, []
    for call in range(WARM_CALLS + CALLS):
        if call and path != "/ui/":
            # Beyond the time for which a read is shared.
            time.sleep(SHARED_SECS + 0.1)
        if path.startswith("/ui/dataset"):
            address = f"{path}?dataset=dataset+{call + 1:05}"
        cpu_ms = _page_ms(gateway, session, address, pids)
        if call >= WARM_CALLS:
            figures.append(cpu_ms)
    print(f"  {path}: {', '.join(f'{figure:.0f}' for figure in figures)} ms", flush=True)
    return statistics.median(figures)


def _page_ms(
    gateway: BenchGateway, session: Mapping[str, str], address: str, pids: tuple[int, ...]
) -> float:
    before = sum(map(cpu_seconds, pids))
    _get(gateway.connect(), address, session)
    return (sum(map(cpu_seconds, pids)) - before) * 1_000


def _get(connection: HTTPConnection, path: str, session: Mapping[str, str]) -> None:
    connection.request("GET", path, headers=dict(session))
    reply = connection.getresponse()
    body = reply.read().decode()
    assert reply.status == 200, (path, reply.status, re.sub(r"<[^>]*>", " ", body)[-2_000:])
