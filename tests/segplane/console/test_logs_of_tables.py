"""The logs page of tables that are no plain dataset, of promoted columns, of the first times."""

from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as ops
from tests.segplane.console.log_records import write_logs
from tests.segplane.console.test_logs import bodies, opened, path
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.schemas import link_view


def test_a_range_that_ends_in_the_first_days_of_the_format_is_shown(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, {"body": "first", "timestamp": 5})

    page = opened(console, "ui/logs?dataset=web&from=1970-01-01T00:00:00Z&to=1970-01-02T00:00:00Z")

    assert bodies(page) == ["first"]
    assert page.link("Last 30d").endswith("&from=-30d&to=now")


def test_a_view_without_records_in_the_range_is_shown(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, {"body": "of the view"})
    link_view(segments.client, segments.dataset, "seen", "where signal == 'logs'")

    assert bodies(opened(console, path(dataset="seen"))) == ["of the view"]
    assert bodies(opened(console, "ui/logs?dataset=seen")) == []


def test_filters_are_true_for_any_type_of_a_column(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    promoted = [
        common_pb2.PromotedColumn(
            name="http_status",
            type=common_pb2.KQL_TYPE_LONG,
            scope=common_pb2.ATTRIBUTE_SCOPE_RECORD,
            attribute="status",
        )
    ]
    settings = ops.DatasetSettings(promoted_columns=ops.PromotedColumns(columns=promoted))
    segments.client.operations.SetDatasetSettings(
        ops.SetDatasetSettingsRequest(dataset_id=segments.dataset, settings=settings)
    )
    write_logs(segments, {"body": "one", "http_status": 500}, {"body": "two", "http_status": 200})

    for value in ('"500"', "500"):
        page = opened(console, path(("only", f'["http_status",{value}]')))
        assert bodies(page) == ["one"], value
    infinite = opened(console, path(("only", '["http_status",1e999]')), 400)
    assert "a filter is" in infinite.text
