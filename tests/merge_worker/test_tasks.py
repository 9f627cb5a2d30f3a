"""From the wire to a merge task."""

import pytest

from merge_worker.tasks import full_key, spec_of
from meta.v1.common_pb2 import (
    AttributeScope,
    CloudObjectKey,
    CloudObjectPrefix,
    KqlType,
    PromotedColumn,
    ShardingField,
)
from segments.parquet import schema


def test_the_heaviest_sharding_field_leads_and_equal_ones_keep_their_order() -> None:
    fields = [
        ShardingField(field_name="light", weight=1),
        ShardingField(field_name="heavy", weight=5),
        ShardingField(field_name="light too", weight=1),
    ]

    assert spec_of(fields, []).sharding_fields == ("heavy", "light", "light too")


@pytest.mark.parametrize(
    "kql_type", [v for v in KqlType.values() if v != KqlType.KQL_TYPE_DYNAMIC], ids=KqlType.Name
)
def test_every_promotable_type_has_a_column_type(kql_type: KqlType.ValueType) -> None:
    column = PromotedColumn(
        name="c", type=kql_type, scope=AttributeScope.ATTRIBUTE_SCOPE_RESOURCE, attribute="a"
    )

    spec = spec_of([], [column])

    assert spec.promoted[0].scope == "resource"
    assert schema.section_schema("logs", spec.promoted).field("c").type is not None


@pytest.mark.parametrize(
    ("kql_type", "scope"),
    [
        (KqlType.KQL_TYPE_DYNAMIC, AttributeScope.ATTRIBUTE_SCOPE_RECORD),
        (KqlType.KQL_TYPE_INT, AttributeScope.ATTRIBUTE_SCOPE_UNSPECIFIED),
    ],
    ids=["dynamic", "no-scope"],
)
def test_a_promoted_column_that_this_release_cannot_write_is_refused(
    kql_type: KqlType.ValueType, scope: AttributeScope.ValueType
) -> None:
    with pytest.raises(ValueError, match="does not know"):
        spec_of([], [PromotedColumn(name="c", type=kql_type, scope=scope, attribute="a")])


@pytest.mark.parametrize("prefix", ["dataset/x/merged", "dataset/x/merged/"])
def test_prefix_and_key_are_joined_by_one_slash(prefix: str) -> None:
    key = CloudObjectKey(prefix=CloudObjectPrefix(prefix=prefix), key="y.parquet")

    assert full_key(key) == "dataset/x/merged/y.parquet"
