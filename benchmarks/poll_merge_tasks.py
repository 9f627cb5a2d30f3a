"""PollForSegmentMergeTask: many workers empty a queue, no task twice, against the bare claim."""

import asyncio
import time
from collections.abc import Sequence

import psycopg

from benchmarks.harness import call_load
from benchmarks.harness.call_load import CallLoad
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres, bench_server
from meta.v1.merge_task_pb2 import PollForSegmentMergeTaskRequest, PollForSegmentMergeTaskResponse

WORKERS = 200
TASKS = 50_000
INPUTS = 4
METHOD = "/meta.v1.MergeTaskService/PollForSegmentMergeTask"
# Inputs of a task are of one hour; nothing here is read as an object.
_FILL = (
    """
    CREATE TEMP TABLE planned AS
    SELECT n, gen_random_uuid() AS id, d.key FROM generate_series(1, %(tasks)s) n, datasets d
    WHERE d.is_default
    """,
    """
    WITH inputs AS (
        INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version,
            size_bytes, compressed_size_bytes, number_of_events, prefix, object_name)
        SELECT gen_random_uuid(), p.key, 3, 3600000000000 * p.n + i, 3600000000000 * p.n + i + 60,
            1, 4000000, 1000000, 10000, 'dataset/bench/merged', gen_random_uuid() || '.parquet'
        FROM planned p, generate_series(1, %(inputs)s) i
        RETURNING id, start_ns
    )
    INSERT INTO merge_task_inputs (segment_id, task_id, position)
    SELECT inputs.id, p.id, start_ns %% 3600000000000
    FROM inputs JOIN planned p ON p.n = start_ns / 3600000000000
    """,
    """
    INSERT INTO merge_tasks (id, dataset_key, output_merge_count, segment_count, smallest_size,
        largest_size, smallest_compressed_size, largest_compressed_size, total_size,
        total_compressed_size, start_ns, end_ns)
    SELECT id, key, 1, %(inputs)s, 4000000, 4000000, 1000000, 1000000, 16000000,
        4000000 + (n * 7919) %% 100000, 3600000000000 * n, 3600000000000 * n + 64
    FROM planned
    """,
)
_RESET = "UPDATE merge_tasks SET attempt = 0, worker_id = NULL, claimed_at = NULL, free_at = NULL"
# The claim of meta.store.merging.merge_tasks without anything around it.
_CLAIM = """
    WITH chosen AS MATERIALIZED (
        SELECT id FROM merge_tasks WHERE state = 1 AND free_at IS NULL
        ORDER BY total_compressed_size, id LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    UPDATE merge_tasks SET attempt = attempt + 1, worker_id = %s, claimed_at = clock_timestamp(),
        free_at = clock_timestamp() + interval '1 hour'
    FROM chosen WHERE merge_tasks.id = chosen.id RETURNING merge_tasks.id
"""


def run() -> list[Result]:
    """Empty the same queue twice: first bare, then through meta."""
    settings = {"max_connections": str(WORKERS + 100)}
    with (
        bench_postgres(settings) as postgres,
        bench_server(postgres.url, {"META_PROCESSES": "2"}) as server,
    ):
        _fill(postgres.url)
        bare = asyncio.run(_claim_bare(postgres.url))
        _execute(postgres.url, "TRUNCATE merge_attempts", _RESET, "VACUUM FULL ANALYZE")
        requests = [
            [PollForSegmentMergeTaskRequest(worker_id=f"worker-{n}").SerializeToString()]
            for n in range(WORKERS)
        ]
        polled = call_load.run(CallLoad(server.address, METHOD, requests, until_empty=True))
    claimed = [
        PollForSegmentMergeTaskResponse.FromString(reply).task.task_id for reply in polled.replies
    ]
    return [
        compare(
            "poll_merge_tasks_per_second",
            polled.per_second,
            bare,
            reference_name="the bare SKIP LOCKED claim through psycopg",
            unit=f"claims/s by {WORKERS} workers",
            bar=0.5,
        ),
        compare(
            "poll_merge_tasks_claimed_once",
            len(claimed),
            len(set(claimed)),
            reference_name="distinct tasks",
            unit=f"claims of {TASKS:,} tasks",
            bar=1.0,
            higher_is_better=False,
        ),
    ]


def _fill(url: str) -> None:
    values = {"tasks": TASKS, "inputs": INPUTS}
    with psycopg.connect(url) as connection:
        for statement in _FILL:
            connection.execute(statement, values)
    _execute(url, "VACUUM ANALYZE")


def _execute(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


async def _claim_bare(url: str) -> float:
    """Claims per second by as many connections as there are workers."""
    connections = [
        await psycopg.AsyncConnection.connect(url, autocommit=True, prepare_threshold=0)
        for _ in range(WORKERS)
    ]
    began = time.perf_counter()
    counts = await asyncio.gather(*(_claim_all(c, f"w{n}") for n, c in enumerate(connections)))
    seconds = time.perf_counter() - began
    for connection in connections:
        await connection.close()
    assert sum(counts) == TASKS
    return sum(counts) / seconds


async def _claim_all(connection: psycopg.AsyncConnection[Sequence[object]], worker: str) -> int:
    count = 0
    while await (await connection.execute(_CLAIM, (worker,))).fetchone():
        count += 1
    return count
