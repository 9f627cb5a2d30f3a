"""The column tables of the segment format."""

import pyarrow as pa
import pytest

from segments.parquet.schema import (
    dictionary_columns,
    file_sort_columns,
    reserved_names,
    section_columns,
    section_schema,
    sort_columns,
    wide_columns,
)
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.signals import SIGNALS, Signal

STATUS = PromotedColumn("http_status", "long", "record", "http.response.status_code")


@pytest.mark.parametrize("signal", SIGNALS)
def test_a_section_starts_with_signal_and_timestamp_which_are_never_null(signal: Signal) -> None:
    schema = section_schema(signal)

    assert schema.names[:3] == ["signal", "timestamp", "service_name"]
    assert [f.name for f in schema if not f.nullable] == ["signal", "timestamp"]


def test_a_file_of_one_signal_has_the_columns_of_that_section_only() -> None:
    assert wide_columns(["logs"], [STATUS]) == section_columns("logs", [STATUS])


def test_a_file_of_all_signals_has_each_column_once() -> None:
    names = [column.name for column in wide_columns(SIGNALS, [STATUS])]

    assert len(set(names)) == len(names)
    assert set(names) == reserved_names() | {"http_status"}


def test_a_column_has_one_type_in_all_sections() -> None:
    types: dict[str, set[pa.DataType]] = {}
    for signal in SIGNALS:
        for column in section_columns(signal):
            types.setdefault(column.name, set()).add(column.type)

    assert [name for name, found in types.items() if len(found) > 1] == []


def test_sharding_fields_lead_the_sort_order_where_the_section_has_them() -> None:
    spec = SegmentSpec(("severity_text", "http_status", "body", "nonsense"), (STATUS,))

    assert sort_columns(spec, "logs") == (
        "signal",
        "severity_text",
        "http_status",
        "service_name",
        "timestamp",
    )
    assert sort_columns(spec, "traces") == ("signal", "http_status", "service_name", "timestamp")


def test_a_column_of_lists_is_not_a_sharding_field() -> None:
    """Rows have no order by it: a merge by it would fail."""
    spec = SegmentSpec(("bucket_counts",))

    assert sort_columns(spec, "metrics") == ("signal", "service_name", "timestamp")


def test_a_sharding_field_that_is_a_key_already_moves_to_the_front_once() -> None:
    assert sort_columns(SegmentSpec(("timestamp",)), "logs") == (
        "signal",
        "timestamp",
        "service_name",
    )


def test_the_order_of_a_file_holds_what_any_of_its_sections_is_sorted_by() -> None:
    spec = SegmentSpec(("metric_name", "severity_text"))

    assert file_sort_columns(spec, ["logs", "metrics"]) == (
        "signal",
        "metric_name",
        "severity_text",
        "service_name",
        "timestamp",
    )


def test_dictionary_columns_are_named_by_the_format_and_include_promoted_strings() -> None:
    names = dictionary_columns([PromotedColumn("user", "string", "record", "user.id"), STATUS])

    assert {"signal", "service_name", "resource_attributes", "metric_name", "user"} <= set(names)
    assert not {"body", "attributes", "trace_id", "http_status"} & set(names)
