"""Promises that each page of the console keeps: access, phones, no script, the policy."""

import pytest

from tests.segplane.console.browser.conftest import OpenTab
from tests.segplane.console.browser.web_shop import HOUR, write_shop
from tests.support.gateway.segments import SegmentWriter

pytestmark = pytest.mark.browser

_TRACE = f"{11:032x}"
PAGES = (
    *("/ui/", "/ui/nothing", "/ui/empty?dataset=default", "/ui/find?q=x"),
    *(f"/ui/logs?{HOUR}", f"/ui/logs?{HOUR}&q=nothing+like+this", f"/ui/logs?{HOUR}&q=|+bad+%28"),
    *(f"/ui/logs/histogram?{HOUR}", f"/ui/logs/share?{HOUR}"),
    *(f"/ui/traces?{HOUR}", f"/ui/traces/{_TRACE}?dataset=web", "/ui/traces/0a?dataset=web"),
    *("/ui/query?q=web+|+take+50", "/ui/query?q=webb", "/ui/query/plan?q=web"),
    *("/ui/logs/live?dataset=web", "/ui/logs/live?dataset=web&q=|+bad+%28", f"/ui/metrics?{HOUR}"),
    *(f"/ui/metrics?{HOUR}&name=memory", "/ui/access", "/ui/access?call=CreateDataset"),
    *("/ui/dataset/versions?dataset=web", "/ui/dataset/segments?dataset=web"),
)


@pytest.fixture(autouse=True)
def shop(segments: SegmentWriter) -> None:
    write_shop(segments)


def test_pages_are_accessible_light_dark_and_on_a_phone(open_tab: OpenTab) -> None:
    for path in PAGES:
        tab = open_tab(path, color_scheme="light")
        assert tab.serious_findings() == [], path

        tab.page.emulate_media(color_scheme="dark")
        assert tab.serious_findings() == [], path

        tab.page.set_viewport_size({"width": 360, "height": 740})
        assert tab.serious_findings() == [], path
        assert not tab.is_wider_than_its_window(), path
        assert tab.page.evaluate("localStorage.length + sessionStorage.length") == 0
        assert tab.complaints == [], path


def test_pages_show_their_content_without_scripts(open_tab: OpenTab) -> None:
    for path in PAGES:
        tab = open_tab(path, java_script_enabled=False)
        assert tab.page.locator("main h1").is_visible(), path
        assert len(tab.page.inner_text("main")) > 30, path
        assert tab.complaints == [], path


def test_pages_take_the_choice_of_local_time(open_tab: OpenTab) -> None:
    for path in PAGES:
        address = f"{path}{'&' if '?' in path else '?'}tz=local"
        page = open_tab(address, timezone_id="Asia/Tokyo").page
        times = page.locator("time:visible").all_inner_texts()
        assert [time for time in times if not time.endswith("+09:00")] == [], path


def test_a_page_is_walked_by_the_keyboard_alone(open_tab: OpenTab) -> None:
    page = open_tab("/ui/").page

    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the content"
    assert page.locator(":focus").is_visible()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.keyboard.press("j")
    assert page.locator("[data-row]:focus-within, [data-row]:focus").count() == 1
