"""The pages about the past of a dataset, and the map of its segments."""

from uuid import uuid4

from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from segplane.gateway.console.operate.segment_map import COLUMNS, map_of
from tests.segplane.console.log_records import several, write_logs
from tests.segplane.console.test_logs import opened
from tests.support.gateway.html import HtmlPage
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer

MIB = 2**20


def row_of(page: HtmlPage, text: str) -> str:
    return next(row.text for row in page.all("tr") if text in row.text)


def version_of(segments: SegmentWriter) -> int:
    request = pb.ListDatasetChangesRequest(dataset_name="web")
    return segments.client.operations.ListDatasetChanges(request).current_version


def test_a_version_shows_what_was_visible_and_leads_to_a_query_there(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(3))
    first = version_of(segments)
    write_logs(segments, *several(4))

    now = opened(console, "ui/dataset/versions?dataset=web")
    then = opened(console, f"ui/dataset/versions?dataset=web&version={first}")

    assert row_of(now, "Records") == "Records 7"
    assert row_of(then, "Records") == "Records 3"
    assert "1 segment added 4 " in row_of(now, f"{first + 1:,} 1 segment")
    query = opened(console, then.link("Query at this version"))
    assert "3 rows." in query.text
    future = opened(console, f"ui/dataset/versions?dataset=web&version={first + 100}")
    assert "Error: " in future.text
    for wrong in ("version=x", "version=-1", f"version={'9' * 19}", "dataset="):
        opened(console, f"ui/dataset/versions?dataset=web&{wrong}", 400)
    opened(console, "ui/dataset/versions?dataset=none", 404)


def test_pins_hold_versions(console: GatewayServer, segments: SegmentWriter) -> None:
    write_logs(segments, *several(1))
    pinned = segments.client.operations.PinVersion(
        pb.PinVersionRequest(
            pin_id=str(uuid4()), dataset_name="web", owner="<b>report", lease_secs=60
        )
    )

    page = opened(console, "ui/dataset/versions?dataset=web")

    # The page is read for each person.
    assert "people with the same rights" not in page.text
    row = row_of(page, "<b>report")
    assert row.startswith(f"{pinned.pin.version:,} <b>report ")
    assert row.endswith(f" 0 Query at version {pinned.pin.version}")


def test_the_map_has_segments_by_time_size_and_generation(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    assert "has no segment" in opened(console, "ui/dataset/segments?dataset=web").text
    for day in range(2):
        segments.write(day)

    page = opened(console, "ui/dataset?dataset=web")
    page = opened(console, page.link("map of segments"))

    # The map of before is shared for a minute.
    assert "has no segment" in page.text
    assert "shared for up to 60 s" in page.text


def test_cells_count_segments_in_bounds() -> None:
    def segment(start: int, size_bytes: int, merges: int) -> common_pb2.SegmentInfo:
        times = common_pb2.TimeRange(start_time=start, end_time=start)
        return common_pb2.SegmentInfo(
            time_range=times, compressed_size_bytes=size_bytes, merge_count=merges
        )

    made = map_of(
        "web",
        [segment(0, 1, 0), segment(0, 2, 1), segment(0, 3, 1), segment(10**12, 64 * MIB, 9)],
        is_cut=True,
    )

    first, last = made.cells
    assert (first.x, first.generation) == (0, 1)
    assert first.text.endswith("1 not merged, 2 merged once")
    assert last.x == (COLUMNS - 1) * 20
    assert last.generation == 3
    assert [(row.name, row.segments) for row in made.rows] == [
        ("below 256 MiB", [0, 0, 0, 1]),
        ("below 64 KiB", [1, 2, 0, 0]),
    ]
