"""The list of datasets in the console."""

from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer


def test_the_console_begins_with_the_datasets(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    answer = console.get("ui/")

    assert answer.status == 200
    assert "text/html" in answer.headers["content-type"]
    assert b"web" in answer.body


def test_a_page_that_is_not_there_is_refused(console: GatewayServer) -> None:
    assert console.get("ui/nothing").status == 404
