"""Live views: records of new versions as events, shared reads of meta, and what ends a stream."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from meta import metrics
from segplane.gateway.console.live.views import HTML_CHARACTERS_MAX, ROWS_MAX
from segplane.gateway.console.pages.live import VIEWS_MAX
from segplane.gateway.console.viewer import LoginNeeded, Viewer
from segplane.gateway.http import metrics as gateway_metrics
from tests.segplane.console.event_reader import events_path, following
from tests.segplane.console.log_records import several, write_logs
from tests.support.gateway.html import HtmlPage
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.gateway.visitors import AnyVisitors
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

WEB = [("dataset", "web")]


def changes_calls() -> int:
    """Calls of ListDatasetChanges that this process's meta has answered."""
    return sum(
        int(sample.value)
        for metric in metrics.META.collect()
        for sample in metric.samples
        if sample.name == "segplane_rpc_seconds_count"
        and sample.labels["rpc"] == "ListDatasetChanges"
    )


def bodies(html: str) -> Sequence[str]:
    page = HtmlPage(Answer(200, {"content-type": "text/html"}, html.encode()))
    return [cell.text for cell in page.all("td", class_="body")]


def test_records_of_a_new_version_come_within_two_seconds(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(3, severity_text="old"))
    # The first query of a process pool starts its launcher.
    assert console.query("web | count").json == [{"Count": 3}]

    with following(console, WEB, [*WEB, ("q", "7")]) as events:
        first = [events.next("state").data for _ in range(2)]
        write_logs(segments, *several(8))
        committed_at = time.monotonic()
        rows = {event.data["view"]: event for event in (events.next("rows"), events.next("rows"))}
        secs = time.monotonic() - committed_at

    assert {state["freshness"] for state in first} == {"ok: nothing waits"}
    assert bodies(rows[0].data["html"]) == [f"line {n}" for n in reversed(range(8))]
    assert bodies(rows[1].data["html"]) == ["line 7"]
    assert [rows[n].data["left_out"] for n in range(2)] == [0, 0]
    assert secs < 2.0


def test_rows_of_a_read_are_bounded_and_the_others_are_counted(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(1))
    with following(console) as events:
        events.next("state")
        write_logs(segments, *several(ROWS_MAX))
        all_fit = events.next("rows").data
        write_logs(segments, *several(ROWS_MAX + 1))
        one_is_left_out = events.next("rows").data

    assert (all_fit["shown"], all_fit["left_out"]) == (ROWS_MAX, 0)
    assert (one_is_left_out["shown"], one_is_left_out["left_out"]) == (ROWS_MAX, 1)
    assert bodies(one_is_left_out["html"])[0] == f"line {ROWS_MAX}"


def test_long_rows_are_fewer(console: GatewayServer, segments: SegmentWriter) -> None:
    write_logs(segments, *several(1))
    with following(console) as events:
        events.next("state")
        write_logs(segments, *several(ROWS_MAX, body="x" * 4_096))
        rows = events.next("rows").data

    assert len(rows["html"]) <= HTML_CHARACTERS_MAX
    assert (rows["shown"], rows["left_out"]) == (ROWS_MAX // 2, ROWS_MAX // 2)


def test_a_stream_continues_where_the_browser_saw_the_last_one_end(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(1, body="before"))
    with following(console) as events:
        seen = events.next("state").id
    write_logs(segments, *several(1, body="meanwhile"))

    with following(console, last_event_id=seen) as events:
        by_header = events.next("rows")
    with following(console, [*WEB, ("since", seen)]) as events:
        by_address = events.next("rows")
    with following(console, last_event_id="9" * 18) as events:
        events.next("state")
        write_logs(segments, *several(1, body="after"))
        of_now = events.next("rows")

    assert bodies(by_header.data["html"]) == bodies(by_address.data["html"]) == ["meanwhile"]
    assert by_header.id == str(by_header.data["through"])
    assert bodies(of_now.data["html"]) == ["after"]


def test_viewers_of_a_dataset_share_one_read_a_second_and_none_is_made_without_them(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(1))
    before, began = changes_calls(), time.monotonic()
    with following(console) as one, following(console, WEB, [*WEB, ("q", "x")]) as other:
        for events, number in ((one, 1), (other, 2)):
            for _ in range(number):
                events.next("state")
        wait_until(lambda: changes_calls() >= before + 2, "two reads")
        secs, made = time.monotonic() - began, changes_calls() - before
    assert made <= secs + 1

    wait_until(lambda: gateway_metrics.LIVE_FEEDS._value.get() == 0, "the end of the feed")


def test_a_drain_ends_streams_at_once(
    meta_server: MetaServer, query_pool: SharedPool, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(1))
    gateway = GatewayServer(
        meta_server.address, pool=query_pool, visitors=AnyVisitors(), drain_secs=60.0
    )
    with following(gateway) as events:
        events.next("state")
        began = time.monotonic()
        gateway.close()
        events.read_to_end()
        secs = time.monotonic() - began

    assert secs < 10.0


class _LeavingVisitors(AnyVisitors):
    """A viewer whose session ends."""

    has_ended = False

    async def find(self, request: Any) -> Viewer:
        if self.has_ended:
            raise LoginNeeded
        return await super().find(request)


@pytest.fixture
def leaving() -> _LeavingVisitors:
    return _LeavingVisitors()


@pytest.fixture
def guarded(
    meta_server: MetaServer, query_pool: SharedPool, leaving: _LeavingVisitors
) -> Iterator[GatewayServer]:
    running = GatewayServer(meta_server.address, pool=query_pool, visitors=leaving)
    yield running
    running.close()


@pytest.mark.long
def test_a_stream_ends_within_five_seconds_of_its_credential(
    guarded: GatewayServer, leaving: _LeavingVisitors, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(1))
    with following(guarded) as events:
        events.next("state")
        leaving.has_ended = True
        ended_at = time.monotonic()
        events.read_to_end()
        secs = time.monotonic() - ended_at

    assert secs <= 5.5
    assert guarded.get(events_path(WEB)[1:], sec_fetch_mode="cors").status == 401


def test_views_that_cannot_be_followed_are_refused_in_words(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(1))

    with following(console, [("dataset", "nothing")], [*WEB, ("q", "no_such == 1")]) as events:
        missing = events.next("state").data
        events.next("state")
        write_logs(segments, *several(1))
        wrong = events.next("rows").data

    assert missing["trouble"].startswith("there is no dataset 'nothing'")
    assert "no_such" in wrong["trouble"]
    with following(console, *[WEB] * VIEWS_MAX) as events:
        followed = {events.next("state").data["view"] for _ in range(VIEWS_MAX)}
    assert followed == set(range(VIEWS_MAX))
    for views in ([], [WEB] * (VIEWS_MAX + 1)):
        assert console.get(events_path(*views)[1:]).status == 400
    for view in ([*WEB, ("since", "-1")], [*WEB, ("q", "| bad (")], [*WEB, *[("x", "y")] * 70]):
        assert console.get(events_path(view)[1:]).status == 400


def test_the_page_follows_the_search_of_the_logs_page(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(1))
    logs = HtmlPage(console.get("ui/logs?dataset=web&q=line&columns=attributes.a&from=-2h"))

    page = HtmlPage(console.get(logs.link("Follow live")))

    (section,) = [e for e in page.all("section") if "data-live" in e.attributes]
    assert section.attributes["data-live"] == "dataset=web&q=line&columns=attributes.a"
    assert console.get("ui/logs/live?dataset=web&q=%7C+bad+%28").status == 400
