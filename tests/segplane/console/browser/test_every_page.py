"""Promises that each page of the console keeps: access, phones, no script, the policy."""

import pytest

from tests.segplane.console.browser.conftest import OpenTab
from tests.support.gateway.segments import SegmentWriter

pytestmark = pytest.mark.browser

PAGES = ("/ui/", "/ui/nothing")


@pytest.fixture(autouse=True)
def data(segments: SegmentWriter) -> SegmentWriter:
    segments.write(rows=300, signals=("logs", "traces"))
    return segments


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_accessible_light_dark_and_on_a_phone(open_tab: OpenTab, path: str) -> None:
    tab = open_tab(path, color_scheme="light")
    assert tab.serious_findings() == []

    tab.page.emulate_media(color_scheme="dark")
    assert tab.serious_findings() == []

    tab.page.set_viewport_size({"width": 360, "height": 740})
    assert tab.serious_findings() == []
    assert not tab.is_wider_than_its_window()
    assert tab.page.evaluate("localStorage.length + sessionStorage.length") == 0
    assert tab.complaints == []


@pytest.mark.parametrize("path", PAGES)
def test_a_page_shows_its_content_without_scripts(open_tab: OpenTab, path: str) -> None:
    tab = open_tab(path, java_script_enabled=False)

    assert tab.page.locator("main h1").is_visible()
    shown = tab.page.locator("main").locator("details, table, [role=alert], .empty")
    assert shown.first.is_visible()
    assert tab.complaints == []


def test_a_page_is_walked_by_the_keyboard_alone(open_tab: OpenTab) -> None:
    page = open_tab("/ui/").page

    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the content"
    assert page.locator(":focus").is_visible()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.keyboard.press("j")
    assert page.locator("[data-row]:focus-within, [data-row]:focus").count() == 1
