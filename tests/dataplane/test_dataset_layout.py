"""Layouts of datasets, and what this release does not know of them."""

import pytest

from dataplane.dataset_layout import UnknownLayout, read_layout, read_layouts
from meta.v1 import common_pb2 as pb
from segments.parquet.schema import section_schema
from segments.parquet.spec import PromotedColumn

LATER = 99


def column(
    kql_type: int = pb.KQL_TYPE_LONG, scope: int = pb.ATTRIBUTE_SCOPE_RESOURCE
) -> pb.PromotedColumn:
    return pb.PromotedColumn(
        name="status",
        type=kql_type,  # type: ignore[arg-type]
        scope=scope,  # type: ignore[arg-type]
        attribute="http.status",
    )


def test_the_heaviest_sharding_field_leads_and_equal_ones_keep_their_order() -> None:
    fields = [
        pb.ShardingField(field_name="light", weight=1),
        pb.ShardingField(field_name="heavy", weight=5),
        pb.ShardingField(field_name="light too", weight=1),
    ]

    spec = read_layout(fields, [column()])

    assert spec.sharding_fields == ("heavy", "light", "light too")
    assert spec.promoted == (PromotedColumn("status", "long", "resource", "http.status"),)


@pytest.mark.parametrize("kql_type", pb.KqlType.values(), ids=pb.KqlType.Name)
def test_every_promotable_type_has_a_column_type(kql_type: pb.KqlType.ValueType) -> None:
    spec = read_layout([], [column(kql_type)])

    assert section_schema("logs", spec.promoted).field("status").type is not None


@pytest.mark.parametrize(
    ("kql_type", "scope"),
    [
        (pb.KQL_TYPE_INT, pb.ATTRIBUTE_SCOPE_UNSPECIFIED),
        (LATER, pb.ATTRIBUTE_SCOPE_RECORD),
        (pb.KQL_TYPE_INT, LATER),
    ],
    ids=["no scope", "a later type", "a later scope"],
)
def test_what_this_release_cannot_write_is_refused_with_its_name(kql_type: int, scope: int) -> None:
    with pytest.raises(UnknownLayout, match=f"status has type {kql_type} and scope {scope}"):
        read_layout([], [column(kql_type, scope)])


def test_an_unknown_layout_holds_up_its_own_dataset_alone() -> None:
    layouts = read_layouts(
        [
            pb.DatasetInfo(id="known", promoted_columns=[column()]),
            pb.DatasetInfo(id="later", promoted_columns=[column(LATER)]),
        ]
    )

    assert layouts.specs.keys() == {"known"}
    assert "type 99" in layouts.waiting["later"]
