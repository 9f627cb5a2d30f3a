"""Notes, labels and contexts of resources at a limit: accepted there, refused beyond it."""

import json
import time
from typing import Any
from uuid import UUID, uuid4

from meta.v1 import costs_pb2 as pb_costs
from meta.v1 import resources_pb2 as pb
from meta.v1 import status_pb2 as pb_status
from tests.support.meta.kept_backups import BackupDriver
from tests.support.meta.limits.world import Case, World, case_of

RESOURCES: dict[str, Case] = {}
of = case_of(RESOURCES)


def update(world: World, **fields: Any) -> None:
    ref = pb.ResourceRef(kind=pb.RESOURCE_KIND_DATASET, id=world.catalog.dataset(uuid4().hex))
    world.client.resources.UpdateResource(pb.UpdateResourceRequest(resource=ref, **fields))


def labels(n: int) -> dict[str, str]:
    return {f"label-{k}": "value" for k in range(n)}


@of("bytes of the key of a label")
def _(world: World, n: int) -> None:
    update(world, set_labels={"é" * (n // 2) + "k" * (n % 2): "value"})


@of("bytes of the value of a label")
def _(world: World, n: int) -> None:
    update(world, set_labels={"key": "é" * (n // 2) + "v" * (n % 2)})


@of("labels of a resource")
def _(world: World, n: int) -> None:
    ref = pb.ResourceRef(kind=pb.RESOURCE_KIND_DATASET, id=world.catalog.dataset(uuid4().hex))
    for some in (labels(32), labels(n)):
        change = {key: some[key] for key in list(some)[-40:]}
        request = pb.UpdateResourceRequest(resource=ref, set_labels=change)
        world.client.resources.UpdateResource(request)


@of("`UpdateResource.set_labels`")
def _(world: World, n: int) -> None:
    update(world, set_labels=labels(n))


@of("`UpdateResource.remove_labels`")
def _(world: World, n: int) -> None:
    update(world, remove_labels=list(labels(n)))


@of("bytes of `UpdateResource.context`")
def _(world: World, n: int) -> None:
    text = json.dumps({"long": "x"})
    update(world, context=text.replace("x", "x" * (n - len(text) + 1)))


@of("members of `UpdateResource.context` at its top level")
def _(world: World, n: int) -> None:
    update(world, context=json.dumps({f"m{k}": k for k in range(n)}))


@of("levels of `UpdateResource.context`")
def _(world: World, n: int) -> None:
    update(world, context='{"a":' + "[" * (n - 1) + "]" * (n - 1) + "}")


@of("characters of `UpdateResource.note`")
def _(world: World, n: int) -> None:
    update(world, note="é" * n)


@of("`VacuumDatasets.older_than_secs`")
def _(world: World, n: int) -> None:
    world.client.resources.VacuumDatasets(pb.VacuumDatasetsRequest(older_than_secs=n, dry_run=True))


@of("`CreateBackup.keep_secs`")
def _(world: World, n: int) -> None:
    BackupDriver(world.client).create(keep_secs=n)


@of("characters of `CreateBackup.note`")
def _(world: World, n: int) -> None:
    BackupDriver(world.client).create(note="é" * n)


def lock(world: World, **fields: Any) -> None:
    ref = pb.ResourceRef(kind=pb.RESOURCE_KIND_DATASET, id=world.catalog.dataset(uuid4().hex))
    request = pb.LockResourceRequest(**{"resource": ref, "reason": "an audit", **fields})
    world.client.resources.LockResource(request)


@of("characters of `LockResource.reason`")
def _(world: World, n: int) -> None:
    lock(world, reason="é" * n)


@of("days to `LockResource.ends_at_nanos`")
def _(world: World, n: int) -> None:
    lock(world, ends_at_nanos=time.time_ns() + n * 86_400 * 10**9)


@of("locks of a resource")
def _(world: World, n: int) -> None:
    ref = pb.ResourceRef(kind=pb.RESOURCE_KIND_DATASET, id=world.catalog.dataset(uuid4().hex))
    for _number in range(n):
        lock(world, resource=ref)


@of("characters of `BreakLock.reason`")
def _(world: World, n: int) -> None:
    ref = pb.ResourceRef(kind=pb.RESOURCE_KIND_DATASET, id=world.catalog.dataset(uuid4().hex))
    lock(world, resource=ref)
    world.client.resources.BreakLock(pb.BreakLockRequest(resource=ref, reason="é" * n))


@of("characters of `UpdateResource.title`")
def _(world: World, n: int) -> None:
    update(world, title="é" * n)


@of("characters of a dataset's name with its group")
def _(world: World, n: int) -> None:
    group = uuid4().hex
    world.client.resources.CreateGroup(pb.CreateGroupRequest(name=group))
    world.catalog.dataset(f"{group}/{'é' * (n - len(group) - 1)}")


@of("`ListResources.limit`")
def _(world: World, n: int) -> int:
    world.execute(
        "INSERT INTO views (id, name) SELECT gen_random_uuid(), gen_random_uuid()::text"
        " FROM generate_series(1, :n)",
        n=n,
    )
    request = pb.ListResourcesRequest(kind=pb.RESOURCE_KIND_VIEW, limit=n)
    return len(world.client.resources.ListResources(request).items)


@of("`ListProcesses.limit`")
def _(world: World, n: int) -> int:
    world.execute(
        "INSERT INTO processes"
        " SELECT 'nursery', gen_random_uuid()::text, n, '', '', false, 0, 0, 1, 1"
        " FROM generate_series(1, :n + 1) n",
        n=n,
    )
    request = pb_status.ListProcessesRequest(limit=n)
    return len(world.client.status.ListProcesses(request).processes)


@of("`ListStreams.limit`")
def _(world: World, n: int) -> int:
    world.execute(
        "WITH made AS (INSERT INTO ingest_streams (id, collector_id, collector_string, shard_hash)"
        " SELECT gen_random_uuid(), gen_random_uuid()::text, '', 0"
        " FROM generate_series(1, :n + 1) RETURNING id)"
        " INSERT INTO stream_heads (stream_id) SELECT id FROM made",
        n=n,
    )
    return len(world.client.status.ListStreams(pb_status.ListStreamsRequest(limit=n)).streams)


@of("`ListStreams.datasets_limit`")
def _(world: World, n: int) -> int:
    stream = world.collector().register(world.catalog.token(world.dataset)).stream_id
    world.execute(
        "WITH made AS (INSERT INTO datasets (id, name) SELECT gen_random_uuid(),"
        " gen_random_uuid()::text FROM generate_series(1, :n + 1) RETURNING id)"
        " INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset,"
        " changed_version) SELECT :stream, id, -1, -1, 1 FROM made",
        n=n,
        stream=UUID(stream),
    )
    request = pb_status.ListStreamsRequest(stream_id=stream, datasets_limit=n)
    (listed,) = world.client.status.ListStreams(request).streams
    assert listed.has_more_datasets
    return len(listed.datasets)


@of("`ListMergeAttempts.limit`")
def _(world: World, n: int) -> int:
    world.execute(
        "WITH made AS (INSERT INTO merge_tasks (id, dataset_key, state, attempt, finished_at,"
        " output_merge_count, segment_count, smallest_size, largest_size, smallest_compressed_size,"
        " largest_compressed_size, total_size, total_compressed_size, start_ns, end_ns)"
        " SELECT gen_random_uuid(), d.key, 2, 1, now(), 1, 1, 1, 1, 1, 1, 1, 1, 1, 1"
        " FROM datasets d, generate_series(1, :n + 1) WHERE d.id = :dataset RETURNING id)"
        " INSERT INTO merge_attempts (task_id, attempt, worker_id) SELECT id, 1, 'w' FROM made",
        n=n,
        dataset=UUID(world.dataset),
    )
    request = pb_status.ListMergeAttemptsRequest(limit=n)
    return len(world.client.status.ListMergeAttempts(request).attempts)


@of("`ListDatasetNumbers.ids`")
def _(world: World, n: int) -> None:
    ids = [str(uuid4()) for _ in range(n)]
    world.client.resources.ListDatasetNumbers(pb.ListDatasetNumbersRequest(ids=ids))


@of("`ListCosts.limit`")
def _(world: World, n: int) -> int:
    world.execute(
        "INSERT INTO costs SELECT '2024-02-29', 0, gen_random_uuid(), 2, 1, 0, 0, 0"
        " FROM generate_series(1, :n + 1)",
        n=n,
    )
    request = pb_costs.ListCostsRequest(month="2024-02", limit=n)
    return len(world.client.operations.ListCosts(request).costs)


@of("`GetTenantUsage.pagination.limit`")
def _(world: World, n: int) -> int:
    world.execute(
        "INSERT INTO tenants (id, name) SELECT gen_random_uuid(), gen_random_uuid()"
        " FROM generate_series(1, :n + 1)",
        n=n,
    )
    request = pb.GetTenantUsageRequest()
    request.pagination.limit = n
    return len(world.client.resources.GetTenantUsage(request).usage)
