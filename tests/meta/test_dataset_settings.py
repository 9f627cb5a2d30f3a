"""Settings of a dataset: retention, promoted columns, sharding fields."""

from collections.abc import Sequence
from uuid import UUID

import pytest
from google.protobuf.duration_pb2 import Duration
from sqlalchemy import text

from meta.client import MetaClient
from meta.commits.transactions import Transactions
from meta.errors import (
    InvalidArgument,
)
from meta.services.catalog.promoted_columns import FORMAT_COLUMNS, TIME_COLUMNS, WORD_COLUMNS
from meta.store.catalog import dataset_layouts
from meta.store.catalog.dataset_layouts import FIELD_ID_MIN, PromotedColumnRow
from meta.store.deletion import retention
from meta.v1 import catalog_pb2, operations_pb2
from meta.v1.common_pb2 import (
    ATTRIBUTE_SCOPE_RECORD,
    KQL_TYPE_DATETIME,
    KQL_TYPE_LONG,
    KqlType,
    PromotedColumn,
    ShardingField,
)
from segments.parquet import schema
from segments.parquet.columns.field_ids import PROMOTED_FIELD_ID_MIN
from segments.parquet.columns.readable import READABLE_COLUMNS
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import get_settings, set_settings
from tests.support.meta.segments import EPOCH, WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.fixture
def transactions(meta_server: MetaServer) -> Transactions:
    return Transactions(meta_server.running.database)


def promoted(name: str, attribute: str = "a") -> PromotedColumn:
    return PromotedColumn(
        name=name, type=KQL_TYPE_LONG, scope=ATTRIBUTE_SCOPE_RECORD, attribute=attribute
    )


def numbered(column: PromotedColumn, field_id: int) -> PromotedColumn:
    copy = PromotedColumn()
    copy.CopyFrom(column)
    copy.field_id = field_id
    return copy


def set_promoted(
    meta_client: MetaClient, dataset: str, *columns: PromotedColumn
) -> Sequence[PromotedColumn]:
    """Set the whole list; returns what the server has then."""
    settings = operations_pb2.DatasetSettings(
        promoted_columns=operations_pb2.PromotedColumns(columns=columns)
    )
    return set_settings(meta_client, dataset, settings).promoted_columns.columns


def test_settings_that_are_not_given_stay(meta_client: MetaClient, dataset: str) -> None:
    column = PromotedColumn(
        name="status", type=KQL_TYPE_LONG, scope=ATTRIBUTE_SCOPE_RECORD, attribute="http.status"
    )
    set_settings(
        meta_client,
        dataset,
        operations_pb2.DatasetSettings(
            event_retention=Duration(seconds=86_400),
            records_per_month=-1,
            promoted_columns=operations_pb2.PromotedColumns(columns=[column]),
        ),
    )

    changed = set_settings(
        meta_client,
        dataset,
        operations_pb2.DatasetSettings(created_retention=Duration(seconds=7, nanos=1)),
    )

    assert changed == get_settings(meta_client, dataset)
    assert changed.event_retention.seconds == 86_400
    assert changed.created_retention.seconds == 8
    assert changed.records_per_month == -1
    assert list(changed.promoted_columns.columns) == [numbered(column, FIELD_ID_MIN)]
    cleared = set_settings(
        meta_client,
        dataset,
        operations_pb2.DatasetSettings(promoted_columns=operations_pb2.PromotedColumns()),
    )
    assert not cleared.promoted_columns.columns


@pytest.mark.one_meta
@pytest.mark.parametrize(
    "settings",
    [
        operations_pb2.DatasetSettings(event_retention=Duration(seconds=-1)),
        operations_pb2.DatasetSettings(event_retention=Duration(nanos=-1)),
        operations_pb2.DatasetSettings(created_retention=Duration(seconds=2**62)),
        operations_pb2.DatasetSettings(records_per_month=-2),
        *(
            operations_pb2.DatasetSettings(
                promoted_columns=operations_pb2.PromotedColumns(columns=columns)
            )
            for columns in (
                [PromotedColumn(name="x", type=KQL_TYPE_LONG, attribute="a")],
                [
                    PromotedColumn(
                        name="x",
                        scope=ATTRIBUTE_SCOPE_RECORD,
                        type=KqlType.ValueType(99),
                        attribute="a",
                    )
                ],
                [PromotedColumn(name="x", scope=ATTRIBUTE_SCOPE_RECORD, type=KQL_TYPE_LONG)],
                [
                    PromotedColumn(
                        name="Body", scope=ATTRIBUTE_SCOPE_RECORD, type=KQL_TYPE_LONG, attribute="a"
                    )
                ],
                [
                    PromotedColumn(
                        name=name, scope=ATTRIBUTE_SCOPE_RECORD, type=KQL_TYPE_LONG, attribute="a"
                    )
                    for name in ("x", "X")
                ],
            )
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    meta_client: MetaClient, dataset: str, settings: operations_pb2.DatasetSettings
) -> None:
    with pytest.raises(InvalidArgument):
        set_settings(meta_client, dataset, settings)


def test_meta_knows_the_columns_of_the_segment_format() -> None:
    assert schema.reserved_names() == FORMAT_COLUMNS
    assert set(schema.time_columns()) == TIME_COLUMNS
    assert {column.name for column in READABLE_COLUMNS} == WORD_COLUMNS
    assert FIELD_ID_MIN == PROMOTED_FIELD_ID_MIN


def test_a_promoted_column_keeps_its_field_id_and_no_other_gets_it(
    meta_client: MetaClient, dataset: str
) -> None:
    status, user, changed = promoted("status"), promoted("user"), promoted("status", "http.code")

    first = set_promoted(meta_client, dataset, status, user)
    set_promoted(meta_client, dataset)
    second = set_promoted(meta_client, dataset, changed, promoted("new"))
    third = set_promoted(meta_client, dataset, user, numbered(status, 7))

    ids = [[column.field_id for column in columns] for columns in (first, second, third)]
    assert ids == [[1_000, 1_002], [1_004, 1_006], [1_002, 1_000]]


def test_a_column_that_a_server_of_0_1_0_promoted_gets_an_id_when_it_is_set_again(
    meta_client: MetaClient, dataset: str, transactions: Transactions
) -> None:
    set_promoted(meta_client, dataset, promoted("status"), promoted("user"))
    transactions.write(lambda tx: tx.execute(text("DELETE FROM promoted_field_ids")))

    without = get_settings(meta_client, dataset).promoted_columns.columns
    again = set_promoted(meta_client, dataset, promoted("user"), promoted("status"))

    assert not any(column.HasField("field_id") for column in without)
    assert [column.field_id for column in again] == [1_000, 1_002]


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["seen", "timestamp_nanos"], id="of the format"),
        pytest.param(["seen", "End_Timestamp_Nanos"], id="in other letters"),
        pytest.param(["seen", "seen_nanos"], id="of a promoted datetime"),
        pytest.param(["seen", "Severity"], id="of words"),
    ],
)
def test_the_name_of_an_added_column_is_refused_unless_it_is_stored(
    meta_client: MetaClient, dataset: str, transactions: Transactions, names: list[str]
) -> None:
    messages = [promoted(name) for name in names]
    messages[0].type = KQL_TYPE_DATETIME
    with pytest.raises(InvalidArgument, match="format adds"):
        set_promoted(meta_client, dataset, *messages)
    rows = [PromotedColumnRow(m.name, m.type, m.scope, m.attribute) for m in messages]
    transactions.write(lambda tx: dataset_layouts.replace_promoted_columns(tx, UUID(dataset), rows))

    stored = set_promoted(meta_client, dataset, promoted("other"), *messages)

    assert [column.name for column in stored] == ["other", *names]


def test_sharding_fields_replace_the_list_and_keep_their_order(
    meta_client: MetaClient, dataset: str
) -> None:
    fields = [ShardingField(field_name=n, weight=w) for n, w in (("body", 1.5), ("name", 7))]

    def set_fields(*wanted: ShardingField) -> int:
        meta_client.catalog.SetShardingFields(
            catalog_pb2.SetShardingFieldsRequest(name="web", fields=wanted)
        )
        state = meta_client.operations.GetServerState(operations_pb2.GetServerStateRequest())
        return state.version

    def get_fields() -> list[ShardingField]:
        request = catalog_pb2.GetShardingFieldsRequest(id=dataset)
        return list(meta_client.catalog.GetShardingFields(request).fields)

    first = set_fields(*fields)
    assert get_fields() == fields
    assert set_fields(*fields) == first
    assert set_fields() > first
    assert get_fields() == []


def test_a_sharding_field_is_a_column_of_the_files(
    meta_client: MetaClient, transactions: Transactions, dataset: str
) -> None:
    def set_fields(*names: str) -> list[str]:
        fields = [ShardingField(field_name=name, weight=1) for name in names]
        request = catalog_pb2.SetShardingFieldsRequest(name="web", fields=fields)
        return [f.field_name for f in meta_client.catalog.SetShardingFields(request).fields]

    for name in ("sevice_name", "duration", "status"):
        with pytest.raises(InvalidArgument, match=rf"fields\[1\].field_name '{name}' is not a"):
            set_fields("body", name)
    set_promoted(meta_client, dataset, promoted("status"))
    # As an earlier release took it.
    former = (dataset_layouts.ShardingField("light", 1.0),)
    transactions.write(
        lambda tx: dataset_layouts.replace_sharding_fields(tx, UUID(dataset), former)
    )

    assert set_fields("status", "light") == ["status", "light"]


@pytest.mark.one_meta
@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_a_weight_is_finite_and_above_zero(
    meta_client: MetaClient, dataset: str, weight: float
) -> None:
    with pytest.raises(InvalidArgument):
        meta_client.catalog.SetShardingFields(
            catalog_pb2.SetShardingFieldsRequest(
                id=dataset, fields=[ShardingField(field_name="a", weight=weight)]
            )
        )


def test_retention_buries_what_is_too_old_by_either_age(
    meta_client: MetaClient,
    meta_server: MetaServer,
    transactions: Transactions,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
) -> None:
    now = meta_client.operations.GetServerState(
        operations_pb2.GetServerStateRequest()
    ).database_time_nanos
    hour = 3_600_000_000_000
    old_events = writer.save(*(segment_of(dataset, EPOCH + n) for n in range(4)))
    fresh = writer.save(segment_of(dataset, now - hour, now))
    old_rows = writer.save(segment_of(dataset, now - hour, now))
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql(
            "UPDATE segments SET created_at = now() - interval '9 days' WHERE id = %s",
            (old_rows[0],),
        )
    worker.plan()
    none = transactions.write(retention.bury_expired)
    set_settings(
        meta_client,
        dataset,
        operations_pb2.DatasetSettings(
            event_retention=Duration(seconds=86_400), created_retention=Duration(seconds=7 * 86_400)
        ),
    )

    buried = transactions.write(retention.bury_expired)

    assert (none, buried) == (0, 5)
    assert writer.find_ids("web") == fresh
    assert worker.find_task() is None
    assert {one.id for one in writer.get(*old_events, *old_rows)} == {*old_events, *old_rows}
