"""The console takes two of a caller's places for queries, and leaves the others to its programs."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from segplane.gateway.console.console import PAGES_AT_A_TIME
from segplane.gateway.http import metrics
from tests.segplane.console.log_records import several, write_logs
from tests.segplane.console.test_logs import path
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer


@pytest.mark.long
def test_pages_of_a_caller_run_two_queries_at_a_time(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(3))
    highest = 0.0

    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(console.get, path(("q", f"line {n}"))) for n in range(8)]
        while not all(answer.done() for answer in answers):
            highest = max(highest, metrics.RUNNING_QUERIES._value.get())

    assert [answer.result().status for answer in answers] == [200] * 8
    assert 1 <= highest <= PAGES_AT_A_TIME
