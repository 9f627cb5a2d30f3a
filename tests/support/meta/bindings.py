"""Schemas, datasets that are bound to them, and segments with their columns, a call a line."""

from collections.abc import Mapping, Sequence

from meta.client import MetaClient
from meta.v1 import catalog_pb2, common_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.dataset_life import set_settings

LONG, STRING = common_pb2.KQL_TYPE_LONG, common_pb2.KQL_TYPE_STRING
RECORD, RESOURCE = common_pb2.ATTRIBUTE_SCOPE_RECORD, common_pb2.ATTRIBUTE_SCOPE_RESOURCE
Column = common_pb2.Column


def price(name: str) -> Column:
    return Column(name=name, type=LONG)


def create(client: MetaClient, name: str, *columns: Column) -> str:
    return client.catalog.CreateSchema(
        catalog_pb2.CreateSchemaRequest(name=name, columns=columns)
    ).id


def update(
    client: MetaClient,
    schema: str,
    add: Sequence[Column] = (),
    remove: Sequence[str] = (),
    *,
    order: Sequence[str] = (),
    renamed: Mapping[str, str] | None = None,
    freeze: bool = False,
    is_revision: bool = False,
) -> catalog_pb2.UpdateSchemaResponse:
    request = catalog_pb2.UpdateSchemaRequest(
        id=schema,
        add_columns=add,
        remove_columns=remove,
        column_order=order,
        rename_columns=[
            catalog_pb2.ColumnRename(name=name, new_name=new_name)
            for name, new_name in (renamed or {}).items()
        ],
        freeze=freeze,
        is_revision=is_revision,
    )
    return client.catalog.UpdateSchema(request)


def bind(
    client: MetaClient,
    dataset: str,
    schema: str,
    version: int | None = None,
    *attributes: pb.BoundAttribute,
) -> pb.DatasetSettings:
    binding = pb.SchemaBinding(schema_id=schema, version=version, attributes=attributes)
    return set_settings(client, dataset, pb.DatasetSettings(binding=binding))


def unbind(client: MetaClient, dataset: str) -> pb.DatasetSettings:
    return set_settings(client, dataset, pb.DatasetSettings(binding=pb.SchemaBinding()))


def promote(client: MetaClient, dataset: str, *columns: common_pb2.PromotedColumn) -> list[str]:
    settings = pb.DatasetSettings(promoted_columns=pb.PromotedColumns(columns=columns))
    return names(set_settings(client, dataset, settings))


def promoted(name: str, type_: common_pb2.KqlType.ValueType = LONG) -> common_pb2.PromotedColumn:
    return common_pb2.PromotedColumn(name=name, type=type_, scope=RECORD, attribute=name)


def names(settings: pb.DatasetSettings) -> list[str]:
    return [column.name for column in settings.promoted_columns.columns]


def settings_at(client: MetaClient, dataset: str, version: int) -> pb.DatasetSettings:
    request = pb.GetDatasetSettingsRequest(dataset_id=dataset, columns_at=version)
    return client.operations.GetDatasetSettings(request).settings


def columns_at(client: MetaClient, dataset: str, version: int) -> list[str]:
    return names(settings_at(client, dataset, version))


def current_version(client: MetaClient) -> int:
    request = pb.GetDatasetTableRequest(dataset_name="orders")
    return client.operations.GetDatasetTable(request).current_version


def facts_of(segment: common_pb2.CreateSegment, field_ids: list[int]) -> common_pb2.CreateSegment:
    """Give a segment the facts of a file of logs with these promoted columns."""
    segment.facts.CopyFrom(
        common_pb2.SegmentFacts(
            format_version=2,
            signals=[
                common_pb2.SignalFacts(
                    signal=common_pb2.SIGNAL_LOGS,
                    number_of_events=segment.number_of_events,
                    time_range=segment.time_range,
                )
            ],
            promoted_field_ids=field_ids,
        )
    )
    return segment
