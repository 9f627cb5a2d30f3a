"""Lists and numbers of a request at a limit: accepted there, refused beyond it."""

from contextlib import suppress
from uuid import uuid4

from google.protobuf.duration_pb2 import Duration

from meta.errors import NotFound, OffsetConflict
from meta.services.catalog.promoted_columns import COLUMNS_MAX as PROMOTED_MAX
from meta.v1 import catalog_pb2 as cat
from meta.v1 import common_pb2, ingestion_pb2, nursery_pb2, segment_deletion_pb2, segment_lookup_pb2
from meta.v1 import operations_pb2 as ops
from segments.keys import quarantine_key
from tests.support.meta.limits.requests import committed, key_of, list_bucket, report
from tests.support.meta.limits.world import Case, World, case_of, ids

LISTS: dict[str, Case] = {}
of = case_of(LISTS)
CONSENT = ops.LossAcceptance(accept_loss=True, actor="operator")


@of("`SetShardingFields.fields`")
def _(world: World, n: int) -> None:
    promote(world, PROMOTED_MAX)
    fields = [common_pb2.ShardingField(field_name=f"column_{k}", weight=1) for k in range(n)]
    request = cat.SetShardingFieldsRequest(id=world.dataset, fields=fields)
    world.client.catalog.SetShardingFields(request)


def columns(n: int) -> list[common_pb2.Column]:
    return [common_pb2.Column(name=f"c{k}", type=common_pb2.KQL_TYPE_LONG) for k in range(n)]


def schema(world: World, n: int) -> str:
    request = cat.CreateSchemaRequest(name=uuid4().hex, columns=columns(n))
    return world.client.catalog.CreateSchema(request).id


@of("`CreateSchema.columns`")
def _(world: World, n: int) -> None:
    schema(world, n)


@of("`UpdateSchema.add_columns`, and the columns that the schema has then")
def _(world: World, n: int) -> None:
    request = cat.CreateSchemaRequest(name=uuid4().hex, columns=[common_pb2.Column(name="old")])
    made = world.client.catalog.CreateSchema(request).id
    update = cat.UpdateSchemaRequest(id=made, add_columns=columns(n), remove_columns=["old"])
    world.client.catalog.UpdateSchema(update)


@of("`UpdateSchema.remove_columns`")
def _(world: World, n: int) -> None:
    names, added = [f"c{k}" for k in range(n)], [common_pb2.Column(name="new")]
    made = schema(world, 1_000)
    update = cat.UpdateSchemaRequest(id=made, add_columns=added, remove_columns=names)
    world.client.catalog.UpdateSchema(update)


@of("`UpdateSchema.rename_columns`")
def _(world: World, n: int) -> None:
    renamed = (cat.ColumnRename(name=f"c{k}", new_name=f"{k}") for k in range(n))
    request = cat.UpdateSchemaRequest(id=schema(world, 1_000), rename_columns=renamed)
    world.client.catalog.UpdateSchema(request)


def set_settings(world: World, settings: ops.DatasetSettings) -> None:
    request = ops.SetDatasetSettingsRequest(dataset_id=world.dataset, settings=settings)
    world.client.operations.SetDatasetSettings(request)


def promote(world: World, n: int) -> None:
    type_, scope = common_pb2.KQL_TYPE_LONG, common_pb2.ATTRIBUTE_SCOPE_RECORD
    new = common_pb2.PromotedColumn
    promoted = [
        new(name=f"column_{k}", attribute=f"{k}", type=type_, scope=scope) for k in range(n)
    ]
    set_settings(world, ops.DatasetSettings(promoted_columns=ops.PromotedColumns(columns=promoted)))


@of("`SetDatasetSettings.settings.promoted_columns.columns` beside those of the schema")
def _(world: World, n: int) -> None:
    promote(world, n)


@of("seconds of a retention or grace")
def _(world: World, n: int) -> None:
    for field in ("event_retention", "created_retention", "tombstone_grace"):
        set_settings(world, ops.DatasetSettings(**{field: Duration(seconds=n)}))  # type: ignore[arg-type]


@of("`SaveSegments.segments`")
def _(world: World, n: int) -> None:
    world.writer.save(*(world.segment() for _ in range(n)))


@of("`facts.signals` of a segment")
def _(world: World, n: int) -> None:
    segment = world.segment()
    segment.number_of_events = n
    for signal in range(1, n + 1):
        segment.facts.signals.add(
            signal=signal,
            number_of_events=1,
            time_range=segment.time_range,
        )
    segment.facts.format_version = 2
    world.writer.save(segment)


@of("`facts.promoted_field_ids` of a segment")
def _(world: World, n: int) -> None:
    segment = world.segment()
    segment.facts.format_version = 2
    segment.facts.promoted_field_ids.extend(range(1, n + 1))
    world.writer.save(segment)


@of("`facts.format_version` of a segment")
def _(world: World, n: int) -> None:
    segment = world.segment()
    segment.facts.format_version = n
    world.writer.save(segment)


@of("`CommitOffset.dataset_ids`, and as many `dataset_records`")
def _(world: World, n: int) -> None:
    stream, dataset = committed(world)
    world.client.ingestion.CommitOffset(
        ingestion_pb2.CommitOffsetRequest(
            stream_id=stream,
            committed_offset=1,
            num_records=n,
            dataset_ids=[dataset, *ids(n - 1)],
            dataset_records=[1] * n,
        )
    )


def poll(world: World, **fields: object) -> None:
    request = nursery_pb2.GetIngestStreamsRequest(paged=True, **fields)  # type: ignore[arg-type]
    world.client.nursery.GetIngestStreamsForNursery(request)


@of("`GetIngestStreamsForNursery.shard_count`, and the number of `shard_indexes`")
def _(world: World, n: int) -> None:
    poll(world, shard_count=n)
    poll(world, shard_count=n, shard_indexes=range(n))


@of("`GetIngestStreamsForNursery.waiting_dataset_ids`")
def _(world: World, n: int) -> None:
    poll(world, waiting_dataset_ids=ids(n))


@of("`RegisterMergedSegment.stream_offsets`")
def _(world: World, n: int) -> None:
    # All moves are judged: the streams that do not exist are what is wrong.
    with suppress(NotFound, OffsetConflict):
        world.nursery.register(world.dataset, *((stream, -1, 0) for stream in ids(n)))


@of("segments of `RegisterMergedSegment`")
def _(world: World, n: int) -> None:
    stream, dataset = committed(world)
    first, *more = (world.nursery.segment(dataset) for _ in range(n))
    world.nursery.register(dataset, (stream, -1, 0), segment=first, more=more)


def register_all(world: World, *registrations: nursery_pb2.RegisterMergedSegmentRequest) -> None:
    request = ops.RegisterMergedSegmentsRequest(registrations=registrations)
    world.client.operations.RegisterMergedSegments(request)


@of("`RegisterMergedSegments.registrations`")
def _(world: World, n: int) -> None:
    # Each is refused by itself, the call is not.
    register_all(world, *(nursery_pb2.RegisterMergedSegmentRequest() for _ in range(n)))


@of("segments of all registrations of `RegisterMergedSegments`")
def _(world: World, n: int) -> None:
    registrations = [
        nursery_pb2.RegisterMergedSegmentRequest(
            segment=world.segment(),
            more_segments=[world.segment() for _ in range(min(50, n - at) - 1)],
        )
        for at in range(0, n, 50)
    ]
    register_all(world, *registrations)


@of("`stream_offsets` of all registrations of `RegisterMergedSegments`")
def _(world: World, n: int) -> None:
    moves = [
        nursery_pb2.StreamOffsetInfo(stream_id=stream, dataset_id=world.dataset)
        for stream in ids(n)
    ]
    halves = (moves[: n // 2], moves[n // 2 :])
    register_all(
        world,
        *(nursery_pb2.RegisterMergedSegmentRequest(stream_offsets=half) for half in halves),
    )


@of("`ConfirmTombstoneDeletion.segment_ids`")
def _(world: World, n: int) -> None:
    request = segment_deletion_pb2.ConfirmTombstoneDeletionRequest(segment_ids=ids(n))
    world.client.segment_deletion.ConfirmTombstoneDeletion(request)


@of("`FindSegments.dataset_names`")
def _(world: World, n: int) -> None:
    name = world.catalog.dataset_name(world.dataset)
    request = segment_lookup_pb2.FindSegmentsRequest(dataset_names=[name] * n, limit=1)
    world.client.segment_lookup.FindSegments(request)


@of("`FindSegments.signals`")
def _(world: World, n: int) -> None:
    signals = range(1, n + 1)
    request = segment_lookup_pb2.FindSegmentsRequest(signals=signals, limit=1)  # type: ignore[arg-type]
    world.client.segment_lookup.FindSegments(request)


@of("`GetSegmentsByIds.segment_ids`")
def _(world: World, n: int) -> None:
    world.writer.get(*ids(n))


@of("`CondemnObjects.object_keys`")
def _(world: World, n: int) -> None:
    keys = [key_of(world) for _ in range(n)]
    world.client.operations.CondemnObjects(ops.CondemnObjectsRequest(object_keys=keys))


@of("`CondemnObjects.segment.stream_ends`")
def _(world: World, n: int) -> None:
    ends = [ops.StreamEnd(stream_id=stream_id) for stream_id in ids(n)]
    segment = ops.UnknownSegment(object_key=key_of(world), stream_ends=ends)
    world.client.operations.CondemnObjects(ops.CondemnObjectsRequest(segment=segment))


@of("`ForgetStreams.listed_stream_ids`")
def _(world: World, n: int) -> None:
    world.client.operations.ForgetStreams(ops.ForgetStreamsRequest(listed_stream_ids=ids(n)))


@of("`CheckConsistency.objects`")
def _(world: World, n: int) -> None:
    list_bucket(world, [ops.ListedObject(object_key=f"k{k:06}", size_bytes=1) for k in range(n)])


of("`CheckConsistency.orphan_age_secs`")(lambda world, n: list_bucket(world, [], orphan_age_secs=n))


@of("`RepairCatalog.repairs`")
def _(world: World, n: int) -> None:
    repairs = [ops.Repair(kind=ops.FINDING_KIND_STATS, subject_id=i) for i in ids(n)]
    world.client.operations.RepairCatalog(ops.RepairCatalogRequest(repairs=repairs))


@of("`ReportObjectChecks.checks`")
def _(world: World, n: int) -> None:
    report(world, *(ops.ObjectCheck(object_key=key_of(world)) for _ in range(n)))


@of("`SetSegmentFacts.segments`")
def _(world: World, n: int) -> None:
    read = [ops.ReadSegment(segment_id=i) for i in ids(n)]
    world.client.operations.SetSegmentFacts(ops.SetSegmentFactsRequest(segments=read))


@of("`ReplaceSegment.ranges`")
def _(world: World, n: int) -> None:
    (stream,) = ids(1)
    ranges = [ops.OffsetRange(stream_id=stream, first_offset=k, last_offset=k) for k in range(n)]
    request = ops.ReplaceSegmentRequest(
        segment_id=stream, segment=world.segment(), ranges=ranges, acceptance=CONSENT
    )
    # The ranges are judged before the segment, which does not exist.
    with suppress(NotFound):
        world.client.operations.ReplaceSegment(request)


@of("`CompleteReplay.segments`")
def _(world: World, n: int) -> None:
    key = quarantine_key(str(uuid4()), 0, str(uuid4()), "logs", 0)
    begin = ops.BeginReplayRequest(object_key=key, dataset_id=world.dataset, acceptance=CONSENT)
    world.client.operations.BeginReplay(begin)
    files = [world.segment() for _ in range(n)]
    end = ops.CompleteReplayRequest(object_key=key, segments=files)
    world.client.operations.CompleteReplay(end)


@of("offsets of `GetCommittedFlushes`")
def _(world: World, n: int) -> None:
    stream, _ = committed(world)
    request = ops.GetCommittedFlushesRequest(stream_id=stream, first_offset=5, last_offset=n + 4)
    world.client.operations.GetCommittedFlushes(request)
