"""One life of everything: every mutating RPC is called once with success, in a sensible order."""

from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message

from meta.client import MetaClient
from meta.v1 import catalog_pb2 as cat
from meta.v1 import common_pb2, ingest_token_pb2, janitor_pb2, segment_lookup_pb2
from meta.v1 import operations_pb2 as ops
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import DAY, WorkerDriver, Writer


class Watched:
    """A client whose every call goes through `around(method, send, request)`."""

    def __init__(self, client: MetaClient, around: Any) -> None:
        self._client, self._around = client, around

    def __getattr__(self, service: str) -> Any:
        stub = getattr(self._client, service)
        return SimpleNamespace(
            **{m: self._watched(m, getattr(stub, m)) for m in vars(stub) if m[0] != "_"}
        )

    def _watched(self, method: str, send: Any) -> Any:
        def call(request: Message) -> Any:
            return self._around(method, send, request)

        return call


def live(client: Any) -> None:
    """Live it; the deletion grace must be over at once."""
    dataset = CatalogDriver(client).dataset("web")
    _catalog(client, dataset)
    _streams(client, dataset)
    _segments(client, dataset)
    _end(client)


def _catalog(client: Any, dataset: str) -> None:
    columns = [common_pb2.Column(name=name, type=common_pb2.KQL_TYPE_LONG) for name in "abc"]
    schema = client.catalog.CreateSchema(cat.CreateSchemaRequest(name="s", columns=columns)).id
    client.catalog.UpdateSchema(
        cat.UpdateSchemaRequest(
            id=schema,
            new_name="t",
            add_columns=[common_pb2.Column(name="d")],
            remove_columns=["a"],
        )
    )
    view = client.catalog.CreateView(
        cat.CreateViewRequest(name="v", description="d", schema_id=schema)
    ).id
    client.catalog.UpdateView(cat.UpdateViewRequest(id=view, description="", schema_id=""))
    projection = client.catalog.CreateProjection(
        cat.CreateProjectionRequest(name="p", projection="x", schema_id=schema)
    ).id
    client.catalog.UpdateProjection(
        cat.UpdateProjectionRequest(id=projection, projection="y", schema_id="")
    )
    ends = {"dataset_id": dataset, "view_id": view, "projection_id": projection}
    client.catalog.LinkViewDatasetProjection(cat.LinkViewDatasetProjectionRequest(**ends))
    client.catalog.ListDatasources(cat.ListDatasourcesRequest(limit=1))
    client.catalog.UnlinkViewDatasetProjection(cat.UnlinkViewDatasetProjectionRequest(**ends))
    client.catalog.DeleteProjection(cat.DeleteProjectionRequest(id=projection))
    client.catalog.DeleteView(cat.DeleteViewRequest(id=view))
    client.catalog.DeleteSchema(cat.DeleteSchemaRequest(id=schema))
    client.catalog.SetShardingFields(
        cat.SetShardingFieldsRequest(
            id=dataset, fields=[common_pb2.ShardingField(field_name="service_name", weight=2)]
        )
    )
    column = common_pb2.PromotedColumn(
        name="status",
        type=common_pb2.KQL_TYPE_LONG,
        scope=common_pb2.ATTRIBUTE_SCOPE_RECORD,
        attribute="http.status",
    )
    client.operations.SetDatasetSettings(
        ops.SetDatasetSettingsRequest(
            dataset_id=dataset,
            settings=ops.DatasetSettings(
                event_retention=Duration(seconds=10**9),
                promoted_columns=ops.PromotedColumns(columns=[column]),
            ),
        )
    )


def _streams(client: Any, dataset: str) -> None:
    catalog, collector, nursery = (
        CatalogDriver(client),
        IngestionDriver(client, "life"),
        NurseryDriver(client),
    )
    token = catalog.token(dataset)
    catalog.route(token, logs=dataset)
    stream = collector.register(token).stream_id
    for offset in range(4):
        collector.commit(stream, offset, dataset, flush_id=b"f" * 16)
    nursery.register(dataset, (stream, -1, 0), segment=nursery.segment(dataset))
    nursery.register(
        dataset,
        (stream, 0, 2),
        segment=nursery.segment(dataset),
        more=[nursery.segment(dataset)],
    )
    nursery.register(dataset, (stream, 2, 3))
    nursery.stop(stream, 4)
    nursery.register(dataset, (stream, 3, 4))
    nursery.reap(stream, 4)
    nursery.remove_entry(stream, dataset, 4)
    catalog.revoke(token)
    client.ingest_token.DeleteIngestToken(
        ingest_token_pb2.DeleteIngestTokenRequest(token_id=token.id)
    )


def _segments(client: Any, dataset: str) -> None:
    writer, worker = Writer(client), WorkerDriver(client)
    writer.save_many(dataset, 8)
    writer.save_many(dataset, 8, 21_000 * DAY)
    first = writer.find("web", limit=1, start=0, end=2**62, min_version=1)
    client.segment_lookup.FindSegments(
        segment_lookup_pb2.FindSegmentsRequest(
            dataset_names=["web"],
            limit=1,
            time_range=common_pb2.TimeRange(start_time=0, end_time=2**62),
            cursor=first.page.next_cursor,
        )
    )
    worker.plan(min_age_secs=0, dataset_name="web")
    failed = worker.poll()
    worker.fail(failed, failed_segment_id=failed.segments[0].id)
    task = worker.poll()
    client.operations.HeartbeatMergeTask(
        ops.HeartbeatMergeTaskRequest(task_id=task.task_id, attempt=task.attempt, rows_done=5)
    )
    worker.complete(task.task_id, worker.output(task, key=f"{uuid4()}.parquet"))
    writer.get(*(one.id for one in task.segments))
    client.janitor.RewriteAllSegments(janitor_pb2.RewriteAllSegmentsRequest(dataset_name="web"))
    claimed = worker.poll()
    client.janitor.UnclaimMergeTask(
        janitor_pb2.UnclaimMergeTaskRequest(task_id=claimed.task_id, min_claimed_secs=1)
    )
    due = writer.due()
    writer.confirm(*(one.segment_id for one in due))
    client.operations.CondemnObjects(
        ops.CondemnObjectsRequest(object_keys=[f"dataset/{dataset}/merged/{uuid4()}.parquet"])
    )
    client.operations.LeaseNurseryShards(ops.LeaseNurseryShardsRequest(nursery_id="nursery"))
    client.operations.ReleaseDeletionHold(ops.ReleaseDeletionHoldRequest())
    client.operations.ReleaseSegment(ops.ReleaseSegmentRequest(segment_id=claimed.segments[0].id))


def _end(client: Any) -> None:
    dataset = CatalogDriver(client).dataset("gone")
    client.catalog.DeleteDataset(cat.DeleteDatasetRequest(id=dataset))
    client.operations.UndeleteDataset(ops.UndeleteDatasetRequest(dataset_id=dataset))
