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
from segments.keys import new_table_key, quarantine_key
from tests.support.costs import live_costs
from tests.support.events_once import claim_event
from tests.support.meta import workers
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.kept_backups import live_backups
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.resource_locks import live_locks
from tests.support.meta.resources import live_resources
from tests.support.meta.segments import DAY, WorkerDriver, Writer, segment_of


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
    for part in (_catalog, live_resources, _streams, _segments, live_costs, live_backups):
        part(client, dataset)
    claim_event(client, CatalogDriver(client).dataset("once"))
    for last in (_access, _read_footers, live_locks, _end):
        last(client)


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
        cat.CreateProjectionRequest(name="p", projection="extend b=1, c=2, d=b>0", schema_id=schema)
    ).id
    client.catalog.UpdateProjection(
        cat.UpdateProjectionRequest(id=projection, projection="project body", schema_id="")
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
    catalog, collector = CatalogDriver(client), IngestionDriver(client, "life")
    nursery = NurseryDriver(client)
    token = catalog.token(dataset)
    catalog.route(token, logs=dataset)
    stream = collector.register(token).stream_id
    for offset in range(4):
        collector.commit(stream, offset, dataset, flush_id=b"f" * 16)
    client.operations.RegisterMergedSegments(
        ops.RegisterMergedSegmentsRequest(
            registrations=[
                nursery.request(dataset, (stream, -1, 0), segment=nursery.segment(dataset)),
                nursery.request(dataset, (str(uuid4()), -1, 0)),
            ]
        )
    )
    nursery.register(
        dataset,
        (stream, 0, 2),
        segment=nursery.segment(dataset),
        more=[nursery.segment(dataset)],
    )
    client.operations.ParkStream(
        ops.ParkStreamRequest(stream_id=stream, offset=3, reason="it is missing")
    )
    client.operations.SkipOffset(
        ops.SkipOffsetRequest(
            stream_id=stream,
            offset=3,
            acceptance=ops.LossAcceptance(accept_loss=True, actor="operator"),
        )
    )
    nursery.stop(stream, 4)
    nursery.register(dataset, (stream, 3, 4))
    nursery.reap(stream, 4)
    nursery.remove_entry(stream, dataset, 4)
    _quarantine(client, dataset, stream)
    catalog.revoke(token)
    client.ingest_token.DeleteIngestToken(
        ingest_token_pb2.DeleteIngestTokenRequest(token_id=token.id)
    )


def _quarantine(client: Any, dataset: str, stream: str) -> None:
    keys = [quarantine_key(stream, 0, stream, "logs", index) for index in range(2)]
    consent = ops.LossAcceptance(accept_loss=True, actor="operator")
    client.operations.BeginReplay(
        ops.BeginReplayRequest(object_key=keys[0], dataset_id=dataset, acceptance=consent)
    )
    client.operations.CompleteReplay(
        ops.CompleteReplayRequest(
            object_key=keys[0], segments=[segment_of(dataset, key="replayed.parquet")]
        )
    )
    client.operations.DropPayload(ops.DropPayloadRequest(object_key=keys[1], acceptance=consent))


def _damage(client: Any, writer: Writer, dataset: str) -> None:
    consent = ops.LossAcceptance(accept_loss=True, actor="operator")
    (damaged,) = writer.save(segment_of(dataset, key="damaged.parquet"))
    client.operations.HideSegment(ops.HideSegmentRequest(segment_id=damaged, acceptance=consent))
    healed = client.operations.ReplaceSegment(
        ops.ReplaceSegmentRequest(
            segment_id=damaged,
            segment=segment_of(dataset, key="healed.parquet"),
            acceptance=ops.LossAcceptance(actor="operator"),
        )
    )
    client.operations.TakeBackReplacement(
        ops.TakeBackReplacementRequest(segment_id=healed.segment_id, acceptance=consent)
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
    _damage(client, writer, dataset)
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
    _pins(client)
    _rewrites(client)
    claimed = worker.poll()
    client.janitor.UnclaimMergeTask(
        janitor_pb2.UnclaimMergeTaskRequest(task_id=claimed.task_id, min_claimed_secs=1)
    )
    writer.confirm(*(one.segment_id for one in writer.due()))
    key = f"dataset/{dataset}/merged/{uuid4()}.parquet"
    client.operations.CondemnObjects(ops.CondemnObjectsRequest(object_keys=[key]))
    client.operations.ForgetStreams(ops.ForgetStreamsRequest())
    client.operations.RepairCatalog(
        ops.RepairCatalogRequest(
            repairs=[ops.Repair(kind=ops.FINDING_KIND_STATS, subject_id=dataset)]
        )
    )
    (stored, *_) = client.operations.ListStoredObjects(ops.ListStoredObjectsRequest()).objects
    client.operations.ReportObjectChecks(
        ops.ReportObjectChecksRequest(
            checks=[ops.ObjectCheck(object_key=stored.object_key, damage="a flipped bit")],
            position=ops.ScrubPosition(checked_through=stored.object_key, objects=1),
        )
    )
    client.operations.LeaseNurseryShards(ops.LeaseNurseryShardsRequest(nursery_id="nursery"))
    client.operations.HoldDeletion(ops.HoldDeletionRequest())
    client.operations.ReleaseDeletionHold(ops.ReleaseDeletionHoldRequest())
    client.operations.ReleaseSegment(ops.ReleaseSegmentRequest(segment_id=claimed.segments[0].id))


def _pins(client: Any) -> None:
    dataset = client.catalog.GetDataset(cat.GetDatasetRequest(name="web")).id
    since = client.operations.GetServerState(ops.GetServerStateRequest()).version
    client.operations.ListDatasetChanges(
        ops.ListDatasetChangesRequest(dataset_name="web", since_version=since)
    )
    client.operations.ListUnmergedBabies(ops.ListUnmergedBabiesRequest(dataset_id=dataset))
    version = None
    for pin_id in (str(uuid4()), str(uuid4())):
        request = ops.PinVersionRequest(
            pin_id=pin_id, owner="reader", dataset_name="web", version=version, lease_secs=60
        )
        version = client.operations.PinVersion(request).pin.version
        client.operations.RenewPin(ops.RenewPinRequest(pin_id=pin_id, lease_secs=60))
        client.operations.ListPins(ops.ListPinsRequest(dataset_name="web", owner="reader"))
        client.operations.ReleasePin(ops.ReleasePinRequest(pin_id=pin_id, by_operator=True))
    _table(client, dataset)


def _table(client: Any, dataset: str) -> None:
    table = client.operations.GetDatasetTable(ops.GetDatasetTableRequest(dataset_name="web"))
    names = ["manifest.avro", "snapshot-1.avro", "v1.metadata.json"]
    keys = [new_table_key(dataset, table.epoch, name) for name in names]
    pairs = enumerate(keys)
    objects = [ops.TableObject(digest=bytes([n]) * 32, object_key=key) for n, key in pairs]
    request = ops.PutTableObjectsRequest(dataset_id=dataset, objects=objects)
    client.operations.PutTableObjects(request)
    digests, version = [one.digest for one in objects], table.current_version
    snapshot = ops.PutTableSnapshotRequest(dataset_id=dataset, version=version)
    snapshot.manifest_list_digest, snapshot.manifest_digests[:] = digests[1], digests[:1]
    client.operations.PutTableSnapshot(snapshot)
    hand_out = ops.HandOutTableRequest(dataset_id=dataset, dataset_name="web", versions=[version])
    hand_out.document_digest = digests[2]
    client.operations.HandOutTable(hand_out)
    client.operations.ExpireTableObjects(ops.ExpireTableObjectsRequest())


def _rewrites(client: Any) -> None:
    dataset = client.catalog.GetDataset(cat.GetDatasetRequest(name="web")).id
    create = ops.CreateRewriteJobRequest(id=str(uuid4()), dataset_id=dataset, format_version=2)
    job = client.operations.CreateRewriteJob(create).rewrite
    pause = ops.UpdateRewriteJobRequest(id=job.id, state=ops.REWRITE_JOB_STATE_PAUSED, tasks_max=3)
    client.operations.UpdateRewriteJob(pause)
    client.operations.ListRewriteJobs(ops.ListRewriteJobsRequest(dataset_id=dataset))
    client.operations.GetSegmentFormats(ops.GetSegmentFormatsRequest(dataset_id=dataset))


def _access(client: Any) -> None:
    created = client.operations.CreateAccessToken(
        ops.CreateAccessTokenRequest(subject="nursery-eu", role="nursery", expires_secs=60)
    )
    client.operations.ListAccessTokens(ops.ListAccessTokensRequest())
    client.operations.RevokeAccessToken(ops.RevokeAccessTokenRequest(token_id=created.token.id))
    client.operations.ListAuditRecords(ops.ListAuditRecordsRequest(rpc="RevokeAccessToken"))
    client.operations.ListDeniedCalls(ops.ListDeniedCallsRequest(reason="UNAUTHENTICATED"))
    workers.live(client)


def _read_footers(client: Any) -> None:
    unread = client.operations.ListUnreadSegments(ops.ListUnreadSegmentsRequest(limit=1))
    read = [ops.ReadSegment(segment_id=unread.next_after_segment_id)]
    client.operations.SetSegmentFacts(ops.SetSegmentFactsRequest(segments=read))


def _end(client: Any) -> None:
    dataset = CatalogDriver(client).dataset("gone")
    client.catalog.DeleteDataset(cat.DeleteDatasetRequest(id=dataset))
    client.operations.UndeleteDataset(ops.UndeleteDatasetRequest(dataset_id=dataset))
    client.operations.RenameDataset(ops.RenameDatasetRequest(dataset_id=dataset, new_name="found"))
