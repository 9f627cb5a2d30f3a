"""The query page in a browser: editor, errors, completion, chart, cancellation, old versions."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from segplane.gateway.http import metrics
from tests.segplane.console.browser.conftest import OpenTab
from tests.segplane.console.log_records import several, write_logs
from tests.support.browser.chromium import Tab
from tests.support.gateway.segments import SegmentWriter
from tests.support.waiting import wait_until

pytestmark = pytest.mark.browser

SERIES = "web | summarize n = count() by bin(timestamp, 1s), service_name"
ENDLESS = "SELECT count(*) FROM range(100000000000) r WHERE md5(r.range::VARCHAR) = 'x'"
_TEXT = "document.querySelector('textarea').value"


@pytest.fixture(autouse=True)
def data(segments: SegmentWriter) -> SegmentWriter:
    write_logs(segments, *several(5, service_name="web"), *several(5, service_name="db"))
    return segments


@pytest.fixture
def opened(open_tab: OpenTab) -> Callable[..., Tab]:
    def opened_at(text: str = "", lang: str = "kql", **options: Any) -> Tab:
        pairs = urlencode({"lang": lang, "q": text}, quote_via=quote)
        return open_tab(f"/ui/query?{pairs}", **options)

    return opened_at


def editor(page: Any) -> Any:
    """The editor's content; a locator looks into shadow roots."""
    return page.get_by_role("textbox", name="Query in KQL or SQL. Control")


def test_a_query_is_written_and_run_with_the_keyboard_alone(opened: Callable[..., Tab]) -> None:
    tab = opened()
    page = tab.page

    editor(page).focus()
    page.keyboard.type("web | count")
    with page.expect_navigation():
        page.keyboard.press("Control+Enter")

    assert page.locator("#result td").all_inner_texts() == ["10"]
    assert page.evaluate(_TEXT) == "web | count"
    # Tab leaves the editor.
    editor(page).focus()
    page.keyboard.press("Tab")
    assert page.locator(":focus").get_attribute("name") == "lang"
    assert tab.complaints == []


def test_an_error_is_underlined_at_its_word(opened: Callable[..., Tab]) -> None:
    tab = opened("web\n| where bodi has 'x'")
    page = tab.page

    assert page.locator(".cm-error").inner_text() == "bodi"
    assert page.get_by_role("alert").inner_text().startswith("Line 2, column 9: ")
    assert editor(page).evaluate("e => e.getRootNode().activeElement === e")
    assert tab.serious_findings() == []
    assert tab.complaints == []


def test_names_of_the_catalog_complete_words(opened: Callable[..., Tab]) -> None:
    tab = opened()
    page = tab.page
    editor(page).focus()

    page.keyboard.type("we")
    page.locator(".cm-tooltip-autocomplete li", has_text="web").first.wait_for()
    page.keyboard.type("b | where serv")
    page.locator(".cm-tooltip-autocomplete li", has_text="service_name").first.wait_for()
    page.get_by_role("option", name="service_name").first.click()

    assert page.evaluate(_TEXT) == "web | where service_name"
    assert tab.complaints == []


def test_a_result_over_time_is_drawn_above_its_table(opened: Callable[..., Tab]) -> None:
    tab = opened(SERIES, viewport={"width": 900, "height": 700})
    page = tab.page

    chart = page.get_by_role("img", name="Chart over time of ")
    chart.locator("canvas").wait_for()

    assert page.locator("#result .data tbody tr").count() == 10
    assert chart.locator(".u-legend .u-label").all_inner_texts()[1:] in (
        ["web", "db"],
        ["db", "web"],
    )
    assert tab.serious_findings() == []
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 360, "height": 740})
    assert tab.serious_findings() == []
    assert not tab.is_wider_than_its_window()
    assert tab.complaints == []


# Playwright's calls wait for a navigation that is under way, so that the page presses its button.
_CANCEL = """() => new MutationObserver((_, observer) => {
  if (!/for [1-9]/.test(document.querySelector("[data-progress]").textContent)) return;
  observer.disconnect();
  document.querySelector("[data-cancel]").click();
}).observe(document, {childList: true, subtree: true})"""


def test_a_query_is_cancelled_by_a_button(opened: Callable[..., Tab]) -> None:
    page = opened("web | count").page
    page.evaluate(_CANCEL)
    page.get_by_label("Language").select_option("sql")
    editor(page).fill(ENDLESS)
    page.evaluate("document.querySelector('form.query').requestSubmit()")

    page.get_by_text("Cancelled after ").wait_for()
    # The result of before, and the text that was written, are still there.
    assert page.locator("#result td").all_inner_texts() == ["10"]
    assert page.evaluate(_TEXT) == ENDLESS
    wait_until(lambda: metrics.RUNNING_QUERIES._value.get() == 0, "the query ends")
    editor(page).fill("SELECT 1 AS x")
    with page.expect_navigation():
        page.keyboard.press("Control+Enter")
    assert page.locator("#result td").all_inner_texts() == ["1"]


def test_a_result_as_of_an_earlier_version_says_so(opened: Callable[..., Tab]) -> None:
    page = opened("web | count").page
    page.get_by_label("or time").fill("now")
    with page.expect_navigation():
        page.get_by_role("button", name="Run").click()

    assert "The data is as of now" in page.locator("main").inner_text()
    with page.expect_navigation():
        page.get_by_role("link", name="Ask the current data").click()
    assert "as of now" not in page.locator("main").inner_text()
    assert page.locator("#result td").all_inner_texts() == ["10"]


def test_the_page_works_without_scripts(opened: Callable[..., Tab]) -> None:
    page = opened(SERIES, java_script_enabled=False).page

    page.get_by_label("Query in KQL or SQL").fill("web | count")
    with page.expect_navigation():
        page.get_by_role("button", name="Run").click()

    assert page.locator("#result td").all_inner_texts() == ["10"]
