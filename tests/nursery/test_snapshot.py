"""What the nursery makes of meta's answer."""

from merge_worker.tasks import spec_of
from meta.v1 import common_pb2, nursery_pb2
from nursery.snapshot import read_snapshot
from segments.parquet.schema import PromotedColumn


def test_a_datasets_files_are_laid_out_as_merges_lay_them_out() -> None:
    dataset = common_pb2.DatasetInfo(
        id="one",
        sharding_fields=[
            common_pb2.ShardingField(field_name="light", weight=1),
            common_pb2.ShardingField(field_name="heavy", weight=5),
            common_pb2.ShardingField(field_name="light too", weight=1),
        ],
        promoted_columns=[
            common_pb2.PromotedColumn(
                name="status",
                type=common_pb2.KQL_TYPE_LONG,
                scope=common_pb2.ATTRIBUTE_SCOPE_RESOURCE,
                attribute="http.status",
            )
        ],
    )

    spec = read_snapshot(nursery_pb2.GetIngestStreamsResponse(datasets=[dataset])).specs["one"]

    assert spec.sharding_fields == ("heavy", "light", "light too")
    assert spec.promoted == (PromotedColumn("status", "long", "resource", "http.status"),)
    assert spec == spec_of(list(dataset.sharding_fields), list(dataset.promoted_columns))
