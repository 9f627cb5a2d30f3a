"""The worker against the real meta: what it completes is what readers then see."""

from collections import Counter
from pathlib import Path
from uuid import uuid4

from merge_worker.tasks import ClaimedTask, Outcome
from meta.client import MetaClient
from meta.v1 import catalog_pb2, janitor_pb2
from meta.v1.common_pb2 import (
    ATTRIBUTE_SCOPE_RECORD,
    KQL_TYPE_LONG,
    KQL_TYPE_STRING,
    AutomaticColumn,
    PromotedColumn,
    SegmentInfo,
    ShardingField,
)
from meta.v1.operations_pb2 import (
    AutomaticColumns,
    DatasetSettings,
    PromotedColumns,
    SetDatasetSettingsRequest,
)
from segments.baby import crc32c
from segments.parquet.reader import read_footer, read_segment
from segments.parquet.sorting import sort_by
from segplane.read import open_dataset
from tests.support.foreign_files import SECOND, ForeignWriter, logs, parquet
from tests.support.merge_worker.case import Case, Signalling
from tests.support.meta.bindings import bind, create, price
from tests.support.meta.server import MetaServer
from tests.support.parquet.rows import Row, plain


def test_readers_see_the_merged_segment_in_the_place_of_its_inputs(
    meta_client: MetaClient, tmp_path: Path
) -> None:
    case = Case(meta_client, tmp_path)
    rows = [row for seed in range(16) for row in case.save(seed)]
    assert case.plan() == 1
    merger = Signalling()

    case.work_until(merger, merger.is_reported)

    (merged,) = case.find()
    assert merged.number_of_events == len(rows)
    assert merged.merge_count == 1
    (table,) = read_segment(case.store, case.key(merged)).values()
    assert Counter(plain(table)) == Counter(rows)
    assert merged.crc32c == crc32c(case.store.get(case.key(merged)))


def test_an_input_that_is_gone_is_set_aside_and_the_others_are_merged(
    meta_client: MetaClient, tmp_path: Path
) -> None:
    case = Case(meta_client, tmp_path)
    for seed in range(16):
        case.save(seed)
    before = case.find()
    case.store.delete([case.key(before[3])])
    assert case.plan() == 1
    merger = Signalling(tasks=2)

    case.work_until(merger, merger.is_reported)

    after = case.find()
    (merged,) = [segment for segment in after if segment.id != before[3].id]
    assert len(after) == 2
    assert merged.number_of_events == sum(
        segment.number_of_events for segment in before if segment.id != before[3].id
    )
    assert not meta_client.janitor.ListMergeTasks(janitor_pb2.ListMergeTasksRequest()).tasks


def test_files_of_others_are_merged_and_become_a_segment(
    meta_server: MetaServer, tmp_path: Path
) -> None:
    case = Case(meta_server.client, tmp_path)
    for seed in range(12):
        case.save(seed)
    others = ForeignWriter(meta_server, case.dataset_id)
    start = min(segment.time_range.start_time for segment in case.find()) // SECOND * SECOND
    for number in range(4):
        # Registered with wider bounds than it has.
        others.save(parquet(logs(5 + number, start)), 5 + number, start - 1, start + 60 * SECOND)
    before = records(meta_server, case.name)
    assert before.total() == 12 * 40 + 5 + 6 + 7 + 8
    assert case.plan() == 1
    merger = Signalling()

    case.work_until(merger, merger.is_reported)

    (merged,) = case.find()
    assert merged.number_of_events == before.total()
    assert (merged.facts.format_version, merged.HasField("foreign")) == (2, False)
    assert records(meta_server, case.name) == before
    batches = read_footer(case.store, case.key(merged)).footer.batches
    # Each file is a part of the lineage, so that a rebuild chooses the output.
    assert len(batches) == 12 + 4


class Overtaken(Signalling):
    """The dataset is bound to a schema while the first task is merged."""

    def __init__(self, case: Case) -> None:
        super().__init__(tasks=2)
        self._case = case

    def run(self, task: ClaimedTask) -> Outcome:
        outcome = super().run(task)
        if not self.is_last:
            schema = create(self._case.client, f"schema-{uuid4().hex}", price("price"))
            bind(self._case.client, self._case.dataset_id, schema)
        return outcome


def test_a_merge_that_a_binding_overtakes_is_claimed_again_before_its_lease_ends(
    meta_client: MetaClient, tmp_path: Path
) -> None:
    case = Case(meta_client, tmp_path)
    rows = [row for seed in range(16) for row in case.save(seed)]
    assert case.plan() == 1
    merger = Overtaken(case)

    # A lease is a minute.
    case.work_until(merger, merger.is_reported, within_secs=30)

    (merged,) = case.find()
    assert merged.number_of_events == len(rows)
    assert [c.name for c in read_footer(case.store, case.key(merged)).promoted] == ["price"]


def records(server: MetaServer, name: str) -> Counter[str]:
    """Read every record of a dataset."""
    with open_dataset(name, meta_address=server.address) as dataset:
        return Counter(map(str, dataset.to_table().to_pylist()))


STATUS = PromotedColumn(
    name="status", type=KQL_TYPE_LONG, scope=ATTRIBUTE_SCOPE_RECORD, attribute="status"
)
LAYOUT = ("signal", "status", "severity_text", "service_name", "timestamp")


def _change_layout(case: Case) -> None:
    fields = [
        ShardingField(field_name="severity_text", weight=1),
        ShardingField(field_name="status", weight=2),
    ]
    settings = DatasetSettings(promoted_columns=PromotedColumns(columns=[STATUS]))
    case.client.operations.SetDatasetSettings(
        SetDatasetSettingsRequest(dataset_id=case.dataset_id, settings=settings)
    )
    case.client.catalog.SetShardingFields(
        catalog_pb2.SetShardingFieldsRequest(id=case.dataset_id, fields=fields)
    )


def _assert_layout(case: Case, segment: SegmentInfo) -> None:
    stored = read_footer(case.store, case.key(segment))
    assert stored.sort_order == LAYOUT
    assert [column.name for column in stored.promoted] == ["status"]
    table = read_segment(case.store, case.key(segment))["logs"]
    assert table["status"].null_count < table.num_rows
    assert plain(sort_by(table, LAYOUT).select(LAYOUT)) == plain(table.select(LAYOUT))


def test_a_changed_layout_is_applied_by_the_next_merge(
    meta_client: MetaClient, tmp_path: Path
) -> None:
    case = Case(meta_client, tmp_path)
    for seed in range(16):
        case.save(seed)
    _change_layout(case)
    assert case.plan() == 1
    merger = Signalling()

    case.work_until(merger, merger.is_reported)

    (merged,) = case.find()
    _assert_layout(case, merged)


def test_a_changed_layout_is_applied_by_a_rewrite_and_blocks_no_write(
    meta_client: MetaClient, tmp_path: Path
) -> None:
    case = Case(meta_client, tmp_path)
    rows = [row for seed in range(3) for row in case.save(seed)]
    _change_layout(case)
    request = janitor_pb2.RewriteAllSegmentsRequest(dataset_name=case.name)
    planned = meta_client.janitor.RewriteAllSegments(request)
    assert (planned.tasks_created, planned.all_planned) == (3, True)
    rows += case.save(3)
    merger = Signalling(tasks=3)

    case.work_until(merger, merger.is_reported)

    found = case.find()
    rewritten = [s for s in found if read_footer(case.store, case.key(s)).promoted]
    assert (len(found), len(rewritten)) == (4, 3)
    for segment in rewritten:
        _assert_layout(case, segment)
        assert segment.merge_count == 0
    kept: Counter[Row] = Counter()
    for segment in found:
        table = read_segment(case.store, case.key(segment))["logs"]
        kept.update(plain(table.select([n for n in table.schema.names if n != "status"])))
    assert kept == Counter(rows)


def test_a_merge_reads_automatic_columns_out_of_older_segments(
    meta_client: MetaClient, tmp_path: Path
) -> None:
    case = Case(meta_client, tmp_path)
    for seed in range(16):
        case.save(seed)
    keys = {"user.id": KQL_TYPE_STRING, "status": KQL_TYPE_LONG}
    columns = [
        AutomaticColumn(attribute=key, type=type_, written=True) for key, type_ in keys.items()
    ]
    settings = DatasetSettings(automatic_columns=AutomaticColumns(enabled=True, columns=columns))
    stored = meta_client.operations.SetDatasetSettings(
        SetDatasetSettingsRequest(dataset_id=case.dataset_id, settings=settings)
    ).settings.automatic_columns
    assert case.plan() == 1
    merger = Signalling()

    case.work_until(merger, merger.is_reported)

    (merged,) = case.find()
    # The rows have texts and repeated names among the numbers.
    (user,) = [column.field_id for column in stored.columns if column.attribute == "user.id"]
    assert merged.written_facts.automatic_field_ids == [user]
