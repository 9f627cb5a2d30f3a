"""Tables, links of projections and lineage at a limit: accepted there, refused beyond it."""

from contextlib import suppress
from uuid import UUID, uuid4

from meta.errors import NotFound
from meta.v1 import catalog_pb2 as cat
from meta.v1 import common_pb2, status_pb2
from meta.v1 import operations_pb2 as ops
from tests.support.meta.limits.world import Case, World, case_of

TABLES: dict[str, Case] = {}
of = case_of(TABLES)


def digests(n: int) -> list[bytes]:
    return [k.to_bytes(32, "big") for k in range(1, n + 1)]


@of("`PutTableObjects.objects`")
def _(world: World, n: int) -> None:
    objects = [ops.TableObject(digest=digest) for digest in digests(n)]
    # Looked up: none of them is registered.
    with suppress(NotFound):
        world.client.operations.PutTableObjects(
            ops.PutTableObjectsRequest(dataset_id=world.dataset, objects=objects)
        )


@of("`PutTableSnapshot.manifest_digests`")
def _(world: World, n: int) -> None:
    with suppress(NotFound):
        world.client.operations.PutTableSnapshot(
            ops.PutTableSnapshotRequest(
                dataset_id=world.dataset,
                manifest_list_digest=bytes(32),
                manifest_digests=digests(n),
            )
        )


@of("`HandOutTable.versions`")
def _(world: World, n: int) -> None:
    name = world.client.catalog.GetDataset(cat.GetDatasetRequest(id=world.dataset)).name
    with suppress(NotFound):
        world.client.operations.HandOutTable(
            ops.HandOutTableRequest(
                dataset_id=world.dataset,
                dataset_name=name,
                versions=range(n),
                document_digest=bytes(32),
            )
        )


@of("snapshots of a dataset's table")
def _(world: World, n: int) -> None:
    dataset = world.catalog.dataset(uuid4().hex)
    key = f"iceberg/{dataset}/{uuid4().hex}"
    world.execute(
        "INSERT INTO table_objects (dataset_key, digest, object_key, size_bytes, gap_end)"
        " SELECT key, :digest, :object, 1, 0 FROM datasets WHERE id = cast(:dataset AS uuid)",
        "INSERT INTO table_snapshots (dataset_key, version, object_ids, gap_end, committed_at_ms,"
        " segments, number_of_events, size_bytes)"
        " SELECT key, -v, '{}', 0, 0, 0, 0, 0 FROM datasets, generate_series(1, :rows) v"
        " WHERE id = cast(:dataset AS uuid)",
        dataset=dataset,
        digest=bytes(32),
        object=key,
        rows=n - 1,
    )
    world.client.operations.PutTableSnapshot(
        ops.PutTableSnapshotRequest(
            dataset_id=dataset,
            version=1,
            manifest_list_digest=bytes(32),
        )
    )


@of("links of a projection that gets a new text")
def _(world: World, n: int) -> None:
    projection = world.client.catalog.CreateProjection(
        cat.CreateProjectionRequest(name=uuid4().hex, projection="where true")
    ).id
    prefix = uuid4().hex
    world.execute(
        "INSERT INTO views (id, name) SELECT gen_random_uuid(), :prefix || n"
        " FROM generate_series(1, :rows) n",
        "INSERT INTO view_dataset_projections (id, view_id, dataset_id, projection_id)"
        " SELECT gen_random_uuid(), id, cast(:dataset AS uuid), cast(:projection AS uuid)"
        " FROM views WHERE name LIKE :prefix || '%'",
        prefix=prefix,
        rows=n,
        dataset=world.dataset,
        projection=projection,
    )
    world.client.catalog.UpdateProjection(
        cat.UpdateProjectionRequest(id=projection, projection="where false"),
        # Each link is checked, and this machine may be busy.
        timeout=60.0,
    )


@of("`UpdateSchema.column_order`")
def _(world: World, n: int) -> None:
    names = [f"c{k}" for k in range(n)]
    columns = [common_pb2.Column(name=name) for name in names[:1_000]]
    made = world.client.catalog.CreateSchema(
        cat.CreateSchemaRequest(name=uuid4().hex, columns=columns)
    )
    update = cat.UpdateSchemaRequest(id=made.id, column_order=names[::-1])
    world.client.catalog.UpdateSchema(update)


@of("merges of segments without a row in `ListLineage`")
def _(world: World, n: int) -> int:
    first = uuid4()
    world.execute(
        # Ids that begin with the milliseconds of now, as of any UUID of version 7.
        "WITH made AS (SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint), 12, '0')"
        " || '70008000' || lpad(to_hex(k), 12, '0'))::uuid AS id FROM generate_series(1, :n) k),"
        " linked AS (INSERT INTO segment_lineage (input_id, output_id) SELECT :first, id FROM made)"
        " INSERT INTO merge_tasks (id, dataset_key, state, finished_at, output_segment_id,"
        " output_merge_count, segment_count, smallest_size, largest_size, smallest_compressed_size,"
        " largest_compressed_size, total_size, total_compressed_size, start_ns, end_ns)"
        " SELECT gen_random_uuid(), d.key, 2, now(), made.id, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1"
        " FROM made, datasets d WHERE d.id = :dataset",
        first=first,
        dataset=UUID(world.dataset),
        n=n,
    )
    request = status_pb2.ListLineageRequest(segment_id=str(first), limit=1_000)
    segments = world.client.status.ListLineage(request).segments
    return sum(segment.HasField("merge") for segment in segments)
