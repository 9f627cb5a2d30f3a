"""Lists that are longer than their limit: how many items come in one reply."""

from uuid import UUID, uuid4

from meta.errors import NotFound
from meta.v1 import catalog_pb2 as cat
from meta.v1 import janitor_pb2, segment_lookup_pb2, status_pb2
from meta.v1 import operations_pb2 as ops
from tests.support.meta import kept_messages
from tests.support.meta.limits.world import Case, World, case_of

PAGES: dict[str, Case] = {}
of = case_of(PAGES)
LONGEST = 10_001
_VERSION = "SELECT version FROM meta_state"
_FIRST = (
    "SELECT min(s.created_version) FROM segments s JOIN datasets d ON d.key = s.dataset_key"
    " WHERE d.name = %s"
)


def fill_segments(world: World, name: str, count: int = LONGEST) -> tuple[str, int]:
    """Make a dataset of segments, each of its own version; also the version before them."""
    dataset = world.catalog.dataset(name)
    with world.database.read() as tx:
        before = int(tx.exec_driver_sql(_VERSION).scalar_one())
    world.execute(
        # Short keys, so that a page ends at its number and not at its size.
        "WITH made AS (INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns,"
        " created_version, size_bytes, compressed_size_bytes, number_of_events, prefix,"
        " object_name) SELECT gen_random_uuid(), d.key, 0, k, k, :before + k, 1, 1, 1, 'd',"
        " d.key || '-' || k FROM datasets d, generate_series(1, :count) k WHERE d.id = :dataset"
        " RETURNING id, object_name)"
        " INSERT INTO object_identities (object_key, state, segment_id)"
        " SELECT 'd/' || object_name, 1, id FROM made",
        "UPDATE meta_state SET version = version + :count",
        before=before,
        count=count,
        dataset=UUID(dataset),
    )
    with world.database.single() as tx:
        kept_messages.fill(tx)
    return dataset, before


def longest(world: World) -> tuple[str, int]:
    """Give the name of a dataset of the longest list, and the version before its segments."""
    name = f"longest of {world.dataset}"
    try:
        world.client.catalog.GetDataset(cat.GetDatasetRequest(name=name))
    except NotFound:
        fill_segments(world, name)
    with world.database.read() as tx:
        first = tx.exec_driver_sql(_FIRST, (name,)).scalar_one()
    return name, int(first) - 1


@of("`limit` of a catalog list")
def _(world: World, n: int) -> int:
    world.execute(
        "INSERT INTO views (id, name) SELECT gen_random_uuid(), gen_random_uuid()::text"
        " FROM generate_series(1, :n)",
        n=n,
    )
    pagination = cat.PaginationRequest(limit=n)
    reply = world.client.catalog.ListViews(cat.ListViewsRequest(pagination=pagination))
    return len(reply.items)


@of("`FindSegments.limit`")
def _(world: World, n: int) -> int:
    name, _ = longest(world)
    request = segment_lookup_pb2.FindSegmentsRequest(dataset_names=[name], limit=n)
    return len(world.client.segment_lookup.FindSegments(request).segments)


@of("`ExplainMergePlan.limit`")
def _(world: World, n: int) -> int:
    name, _ = longest(world)
    request = ops.ExplainMergePlanRequest(dataset_name=name, limit=n)
    return len(world.client.operations.ExplainMergePlan(request).segments)


@of("`ListDatasetChanges.limit`")
def _(world: World, n: int) -> int:
    name, before = longest(world)
    request = ops.ListDatasetChangesRequest(dataset_name=name, since_version=before, limit=n)
    return len(world.client.operations.ListDatasetChanges(request).changes)


@of("`ListUnmergedBabies.limit`")
def _(world: World, n: int) -> int:
    dataset = world.catalog.dataset()
    stream = world.collector().register(world.catalog.token(dataset)).stream_id
    values = {"stream": UUID(stream), "dataset": UUID(dataset), "n": n + 1}
    world.execute(
        'INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes,'
        " num_records, dataset_ids) SELECT :stream, k - 1, 1, 1, 1, 1, ARRAY[:dataset]"
        " FROM generate_series(1, :n) k",
        "UPDATE stream_heads SET committed_offset = :n - 1, is_pending = true"
        " WHERE stream_id = :stream",
        **values,
    )
    request = ops.ListUnmergedBabiesRequest(dataset_id=dataset, limit=n)
    reply = world.client.operations.ListUnmergedBabies(request)
    return sum(len(listed.babies) for listed in reply.streams)


@of("`ListStoredObjects.limit`")
def _(world: World, n: int) -> int:
    fill_segments(world, uuid4().hex, n + 1)
    request = ops.ListStoredObjectsRequest(limit=n)
    return len(world.client.operations.ListStoredObjects(request).objects)


@of("`ListDamagedObjects.limit`")
def _(world: World, n: int) -> int:
    fill_segments(world, uuid4().hex, n + 1)
    world.execute(
        "INSERT INTO damaged_objects (object_key, damage) SELECT object_key, 'broken'"
        " FROM object_identities WHERE object_key LIKE 'd/%' ORDER BY object_key LIMIT :n + 1"
        " ON CONFLICT DO NOTHING",
        n=n,
    )
    request = ops.ListDamagedObjectsRequest(limit=n)
    return len(world.client.operations.ListDamagedObjects(request).objects)


@of("`ListUnreadSegments.limit`")
def _(world: World, n: int) -> int:
    fill_segments(world, uuid4().hex, n + 1)
    request = ops.ListUnreadSegmentsRequest(limit=n)
    return len(world.client.operations.ListUnreadSegments(request).segments)


@of("`ListAuditRecords.limit`")
def _(world: World, n: int) -> int:
    world.execute(
        "INSERT INTO audit_log (rpc, subject_id, detail) SELECT 'call', '', ''"
        " FROM generate_series(1, :n + 1)",
        n=n,
    )
    request = ops.ListAuditRecordsRequest(limit=n)
    return len(world.client.operations.ListAuditRecords(request).records)


@of("`ListDeniedCalls.limit`")
def _(world: World, n: int) -> int:
    world.execute(
        "INSERT INTO denied_calls (minute, host, reason, calls) SELECT now(), gen_random_uuid(),"
        " 'UNAUTHENTICATED', 1 FROM generate_series(1, :n + 1)",
        n=n,
    )
    request = ops.ListDeniedCallsRequest(limit=n)
    return len(world.client.operations.ListDeniedCalls(request).rows)


@of("`ListWorkers.limit`")
def _(world: World, n: int) -> int:
    world.execute(
        "INSERT INTO workers (id) SELECT gen_random_uuid()::text FROM generate_series(1, :n + 1)",
        n=n,
    )
    return len(world.client.operations.ListWorkers(ops.ListWorkersRequest(limit=n)).workers)


@of("`ListRewriteJobs.limit`")
def _(world: World, n: int) -> int:
    world.execute(
        "INSERT INTO rewrite_jobs (id, dataset_key, state, version, tasks_max, created_at, due_at,"
        " advanced_at, finished_at) SELECT gen_random_uuid(), d.key, 3, 1, 1, now(), now(), now(),"
        " now() FROM datasets d, generate_series(1, :n + 1) WHERE d.id = :dataset",
        n=n,
        dataset=UUID(world.dataset),
    )
    request = ops.ListRewriteJobsRequest(limit=n)
    return len(world.client.operations.ListRewriteJobs(request).rewrites)


@of("`ListFreshness.limit`")
def _(world: World, n: int) -> int:
    world.execute(
        "INSERT INTO datasets (id, name) SELECT gen_random_uuid(), gen_random_uuid()::text"
        " FROM generate_series(1, :n)",
        n=n,
    )
    request = status_pb2.ListFreshnessRequest(limit=n, include_fresh=True)
    return len(world.client.status.ListFreshness(request).datasets)


@of("`PlanDeletion.limit`")
def _(world: World, n: int) -> int:
    world.execute(
        "WITH made AS (INSERT INTO datasets (id, name) SELECT gen_random_uuid(),"
        " gen_random_uuid()::text FROM generate_series(1, :n + 1) RETURNING key)"
        " INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version,"
        " tombstone_version, tombstone_at, size_bytes, compressed_size_bytes, number_of_events,"
        " prefix, object_name) SELECT gen_random_uuid(), key, 6, 1, 2, 1, 2, now(), 1, 1, 1,"
        " 'dataset', gen_random_uuid()::text FROM made",
        n=n,
    )
    return len(world.client.status.PlanDeletion(status_pb2.PlanDeletionRequest(limit=n)).planned)


@of("segments of `GetTombstonedSegmentsForDeletion`")
def _(world: World, n: int) -> int:
    dataset, _ = fill_segments(world, uuid4().hex, n + 1)
    world.execute(
        "UPDATE segments SET tombstone_version = created_version + 1,"
        " tombstone_at = now() - interval '1 day'"
        " WHERE dataset_key = (SELECT key FROM datasets WHERE id = :dataset)",
        dataset=UUID(dataset),
    )
    # As a merge replaced them: the deletion brake would hold segments without a successor.
    world.execute(
        "INSERT INTO segment_lineage SELECT s.id, gen_random_uuid() FROM segments s"
        " JOIN datasets d ON d.key = s.dataset_key WHERE d.id = :dataset",
        dataset=UUID(dataset),
    )
    return len(world.writer.due())


def fill_tasks(world: World, count: int) -> str:
    """Make open tasks without inputs; the id of one of them."""
    task = uuid4()
    world.execute(
        "INSERT INTO merge_tasks (id, dataset_key, output_merge_count, segment_count,"
        " smallest_size, largest_size, smallest_compressed_size, largest_compressed_size,"
        " total_size, total_compressed_size, start_ns, end_ns)"
        " SELECT CASE WHEN k = 1 THEN cast(:task AS uuid) ELSE gen_random_uuid() END, d.key,"
        " 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 FROM datasets d, generate_series(1, :count) k"
        " WHERE d.id = :dataset",
        task=task,
        count=count,
        dataset=UUID(world.dataset),
    )
    return str(task)


@of("tasks of `ListMergeTasks`")
def _(world: World, n: int) -> int:
    fill_tasks(world, n + 1)
    return len(world.client.janitor.ListMergeTasks(janitor_pb2.ListMergeTasksRequest()).tasks)


@of("claims of `GetMergeTask`, the latest")
def _(world: World, n: int) -> int:
    task = fill_tasks(world, 1)
    world.execute(
        "INSERT INTO merge_attempts (task_id, attempt, worker_id)"
        " SELECT :task, k, 'worker' FROM generate_series(1, :n + 1) k",
        task=UUID(task),
        n=n,
    )
    request = janitor_pb2.GetMergeTaskRequest(task_id=task)
    return len(world.client.janitor.GetMergeTask(request).attempts)


@of("findings of a kind among the rows, of `CheckConsistency`")
def _(world: World, n: int) -> int:
    world.execute(
        "INSERT INTO merge_task_inputs (segment_id, task_id, position)"
        " SELECT gen_random_uuid(), gen_random_uuid(), 0 FROM generate_series(1, :n + 1)",
        n=n,
    )
    requests = iter([ops.CheckConsistencyRequest(end_of_listing=True)])
    replies = list(world.client.operations.CheckConsistency(requests))
    kinds = [finding.kind for reply in replies for finding in reply.findings]
    return kinds.count(ops.FINDING_KIND_TASK_INPUT_DEAD)


@of("`ListLineage.limit`")
def _(world: World, n: int) -> int:
    dataset, _ = longest(world)
    first = str(uuid4())
    world.execute(
        "INSERT INTO segment_lineage (input_id, output_id) SELECT :first, s.id FROM segments s"
        " JOIN datasets d ON d.key = s.dataset_key WHERE d.name = :dataset LIMIT :n",
        first=UUID(first),
        dataset=dataset,
        n=n,
    )
    request = status_pb2.ListLineageRequest(segment_id=first, limit=n)
    return len(world.client.status.ListLineage(request).segments)
