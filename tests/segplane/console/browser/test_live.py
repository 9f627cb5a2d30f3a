"""Live logs in a browser: records that come, a pause, one stream for all tabs, hostile records."""

from collections.abc import Iterator
from typing import Any

import pytest

from segplane.gateway.http import metrics
from tests.segplane.console.browser.conftest import OpenTab
from tests.segplane.console.browser.web_shop import HOSTILE
from tests.segplane.console.log_records import several, write_logs
from tests.support.gateway.segments import SegmentWriter
from tests.support.waiting import wait_until

pytestmark = pytest.mark.browser

LIVE = "/ui/logs/live?dataset=web"


@pytest.fixture(autouse=True)
def first(segments: SegmentWriter) -> Iterator[None]:
    write_logs(segments, *several(1, body="before"))
    yield
    # Pages are closed by now.
    wait_until(lambda: metrics.LIVE_FEEDS._value.get() == 0, "the end of the feed")


def following(page: Any) -> None:
    page.get_by_text("Freshness: ok").wait_for()


def test_follow_live(open_tab: OpenTab, segments: SegmentWriter) -> None:
    tab = open_tab("/ui/logs?dataset=web")
    page = tab.page
    page.get_by_role("link", name="Follow live").click()
    following(page)

    write_logs(segments, *several(2, body=f"first {HOSTILE}", severity_number=17))
    page.locator("[data-row]").first.wait_for()
    rows = page.locator("[data-row]")
    texts = rows.all_inner_texts()
    rows.first.get_by_role("link").click()
    page.locator("details.record").wait_for()
    write_logs(segments, *several(3, body="second"))
    page.get_by_text("Paused: 3 new records").wait_for()

    assert len(texts) == 2
    assert "<script>alert(1)</script>" in texts[0]
    assert "U+202E" in texts[0]
    assert rows.count() == 2
    assert tab.serious_findings() == []
    page.get_by_role("button", name="Continue").click()
    assert rows.count() == 5
    assert "second" in rows.first.inner_text()
    assert page.get_by_role("button", name="Pause").is_visible()
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0
    assert tab.complaints == []


def test_tabs_of_a_browser_share_one_stream_and_close_it_with_the_last_one(
    open_tab: OpenTab, segments: SegmentWriter
) -> None:
    tab = open_tab(LIVE)
    streams: list[str] = []
    context = tab.page.context
    context.on("request", lambda request: streams.append(request.url))
    following(tab.page)
    other = context.new_page()
    other.goto(f"{tab.page.url}&q=second")
    other.get_by_text("Freshness: ok").wait_for()

    write_logs(segments, *several(1, body="first"), *several(1, body="second"))
    for page, number in ((tab.page, 2), (other, 1)):
        page.locator("[data-row]").nth(number - 1).wait_for()
        assert page.locator("[data-row]").count() == number
    tab.page.close()
    write_logs(segments, *several(1, body="second again"))
    other.locator("[data-row]").nth(1).wait_for()

    events = [url for url in streams if "/live/events" in url]
    assert all(url.count("view=") <= 2 for url in events)
    assert any("second" in url for url in events)
    assert "are missing" not in other.inner_text("main")
    other.close()
    wait_until(lambda: metrics.LIVE_FEEDS._value.get() == 0, "the end of the feed")


def test_a_selection_pauses_and_so_does_scrolling(
    open_tab: OpenTab, segments: SegmentWriter
) -> None:
    page = open_tab(LIVE, viewport={"width": 900, "height": 500}).page
    following(page)
    write_logs(segments, *several(60))
    page.locator("[data-row]").nth(59).wait_for()

    page.locator("[data-live-list]").evaluate("list => { list.scrollTop = 200 }")
    page.get_by_text("Paused: 0 new records").wait_for()
    page.get_by_role("button", name="Continue").click()
    page.get_by_text("Following", exact=True).wait_for()
    page.evaluate("getSelection().selectAllChildren(document.querySelector('td.body'))")
    page.get_by_text("Paused: 0 new records").wait_for()


def test_a_search_that_is_wrong_says_so(open_tab: OpenTab) -> None:
    page = open_tab("/ui/logs/live?dataset=nothing").page

    page.get_by_text("there is no dataset 'nothing'").wait_for()
