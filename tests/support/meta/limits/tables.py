"""Metadata of tables, and links of projections, at a limit: accepted there, refused beyond it."""

from contextlib import suppress
from uuid import uuid4

from meta.errors import NotFound
from meta.v1 import catalog_pb2 as cat
from meta.v1 import common_pb2
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
