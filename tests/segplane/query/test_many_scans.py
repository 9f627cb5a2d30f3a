"""Queries with many scans of files whose rows our own code converts."""

import pytest

from tests.segplane.query.conftest import QueryDriver
from tests.support.gateway.segments import SegmentWriter


@pytest.mark.timeout(120, method="thread")
def test_scans_do_not_wait_for_each_other(segments: SegmentWriter, queries: QueryDriver) -> None:
    segments.write(format_version=1)
    segments.write(format_version=1, day=1)
    segments.write(day=2)

    text = "web" + " | union web" * 11 + " | where signal == 'logs' | count"

    assert [list(row) for row in queries.rows(text)] == [[12 * 60]]
