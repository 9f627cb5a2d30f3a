"""Windows of time in which the newest records of a search are read, and pages that end early."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from segments.location import StoreLocation
from segments.parquet.schema import section_schema
from segplane.gateway.queries.processes.newest_page import (
    FIRST_ROWS,
    GROWTH,
    PART_ROWS,
    Window,
    newest_part,
    windows,
)
from segplane.read.files.files import DatasetFile
from tests.segplane.console.log_records import NOON, several, write_logs
from tests.segplane.console.test_logs import bodies, opened, path
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.server import MetaServer

STORE = StoreLocation("file", "", "", "", "")
# Of a file that is the first window.
MANY = FIRST_ROWS + 1_000


def file(start_micros: int, end_micros: int, rows: int) -> DatasetFile:
    times = 1_000 * start_micros, 1_000 * end_micros
    return DatasetFile("id", "", STORE, "", *times, rows, 1, ("logs",), 2, ())


@pytest.mark.parametrize(
    ("files", "start", "before", "expected"),
    [
        pytest.param([], 0, None, [(None, None)], id="nothing"),
        pytest.param([file(5, 9, 10)], 0, None, [(None, None)], id="few"),
        pytest.param(
            [file(1, 9, MANY), file(5, 9, MANY)], 0, None, [(5, None), (None, 5)], id="two"
        ),
        pytest.param([file(5, 9, MANY)], 5, None, [(None, None)], id="older than the start"),
        pytest.param(
            [file(50, 59, MANY), file(40, 49, MANY)],
            0,
            44,
            [(40, 45), (None, 40)],
            id="newer than the page",
        ),
        pytest.param(
            [file(100 - n, 100, MANY) for n in range(1, 31)],
            0,
            None,
            [(99, None), (95, 99), (75, 95), (None, 75)],
            id="each further window reaches further",
        ),
    ],
)
def test_windows_are_all_times_and_begin_at_the_newest_files(
    files: Sequence[DatasetFile], start: int, before: int | None, expected: Sequence[Window]
) -> None:
    assert GROWTH == 5
    assert list(windows(files, start, before)) == expected


@pytest.mark.parametrize(
    ("files", "before", "expected"),
    [
        pytest.param([], None, None, id="nothing"),
        pytest.param([file(0, 900, PART_ROWS)], None, None, id="few rows"),
        pytest.param([file(0, 900, 3 * PART_ROWS)], None, 600, id="a third"),
        pytest.param([file(0, 900, 3 * PART_ROWS)], 700, 400, id="older than a page"),
        pytest.param([file(0, 900, 3 * PART_ROWS)], 200, None, id="less than a third is older"),
        pytest.param(
            [file(900, 999, 9 * PART_ROWS), file(0, 900, 3 * PART_ROWS)], 899, 599, id="newer file"
        ),
        pytest.param([file(7, 9, MANY)], None, None, id="many in a microsecond"),
    ],
)
def test_a_part_of_the_newest_file_is_read_first(
    files: Sequence[DatasetFile], before: int | None, expected: int | None
) -> None:
    assert newest_part(files, before) == expected


@pytest.fixture
def many(segments: SegmentWriter) -> SegmentWriter:
    """Write a segment that is the first window, and an older one; each has records of `needle`."""
    write_logs(segments, *several(3, body="needle of the past"))
    spec = segments.spec()
    rows = pa.array(range(MANY), pa.int64())
    columns = {
        "signal": pa.repeat("logs", MANY).dictionary_encode(),
        "service_name": pa.repeat("web", MANY).dictionary_encode(),
        "timestamp": pa.array([NOON + 10**12 + n for n in range(MANY)], pa.timestamp("ns", "UTC")),
        "body": pa.array([f"needle {n}" if n < 2 else "hay" for n in range(MANY)]),
    }
    schema = section_schema("logs", spec.promoted)
    arrays = [columns.get(field.name, pa.nulls(len(rows), field.type)) for field in schema]
    segments.register({"logs": pa.table(arrays, schema=schema)}, spec)
    return segments


def test_older_windows_are_read_until_the_page_is_full(
    console: GatewayServer, many: SegmentWriter
) -> None:
    page = opened(console, path(("q", "needle")))
    hay = opened(console, path(("q", "hay")))

    assert bodies(page) == ["needle 1", "needle 0", *["needle of the past"] * 3]
    assert [e.attributes["id"] for e in page.all("td") if "id" in e.attributes] == [
        f"record-{number}" for number in range(1, 6)
    ]
    assert len(bodies(hay)) == 200
    assert hay.link("Older")


def test_records_that_came_stay_if_older_ones_cannot_be_read(
    console: GatewayServer, many: SegmentWriter, meta_server: MetaServer
) -> None:
    folder = Path("/", meta_server.settings.location.path, "dataset", many.dataset)
    oldest = min(folder.rglob("*.parquet"), key=lambda each: each.stat().st_size)
    # Windows of newer files do not open it.
    oldest.write_bytes(bytes(oldest.stat().st_size))

    page = opened(console, path(("q", "needle")))

    assert bodies(page) == ["needle 1", "needle 0"]
    assert "Older ones are missing" in page.text
    assert page.all("div", role="alert")
