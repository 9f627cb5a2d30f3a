"""The log page in a browser: clicks, keys, a shared address, records of hostile senders."""

import pytest

from tests.segplane.console.browser.conftest import OpenTab
from tests.segplane.console.browser.web_shop import FAILED, HOUR, REQUESTS, write_shop
from tests.support.gateway.segments import SegmentWriter

pytestmark = pytest.mark.browser

LOGS = f"/ui/logs?{HOUR}"
ERRORS = REQUESTS // 10


@pytest.fixture(autouse=True)
def shop(segments: SegmentWriter) -> None:
    write_shop(segments)


def test_an_error_is_found_by_clicking(open_tab: OpenTab) -> None:
    tab = open_tab(LOGS)
    page = tab.page

    page.locator(".facet").get_by_role("link", name="ERROR", exact=True).click()
    page.wait_for_url("**ERROR**")
    rows = page.locator("[data-row]")
    severities = rows.locator(".severity").all_inner_texts()
    rows.first.get_by_role("link").click()
    page.locator("details.record").wait_for()

    assert set(severities) == {"ERROR"}
    assert len(severities) == ERRORS
    assert FAILED in page.locator("details.record").inner_text()
    assert page.get_by_role("link", name="The trace").is_visible()
    assert tab.complaints == []


def test_a_log_leads_to_its_trace_and_back(open_tab: OpenTab) -> None:
    tab = open_tab(f"{LOGS}&q=failed")
    page = tab.page

    page.locator("[data-row] a").first.click()
    page.get_by_role("link", name="The trace").click()
    page.wait_for_url("**/ui/traces/**")
    spans = page.locator(".waterfall [data-row]")
    logs = page.get_by_role("region", name="Logs of the trace").get_by_role("row")
    logs.get_by_text(FAILED).wait_for()
    spans.get_by_role("link", name="charge card").click()
    page.locator("#span-details").get_by_text("no answer").first.wait_for()

    assert spans.count() == 5
    assert logs.count() == 1 + 3
    assert tab.serious_findings() == []
    page.go_back()
    page.wait_for_url("**q=failed**")
    assert page.locator("[data-row]").count() == ERRORS
    assert tab.complaints == []


def test_an_address_that_is_shared_shows_the_same_page(open_tab: OpenTab) -> None:
    page = open_tab(LOGS).page
    page.keyboard.press("/")
    page.keyboard.type("failed")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=failed**")

    other = open_tab("/ui/" + page.url.partition("/ui/")[2]).page

    rows = page.locator("[data-row]").all_inner_texts()
    assert len(rows) == ERRORS
    assert other.locator("[data-row]").all_inner_texts() == rows
    assert other.locator("mark").first.inner_text() == "failed"


def test_the_histogram_is_brushed_by_the_keyboard(open_tab: OpenTab) -> None:
    page = open_tab(LOGS).page
    chart = page.locator(".chart")
    chart.locator("canvas").wait_for()

    chart.focus()
    page.keyboard.press("Home")
    for _ in range(30):
        page.keyboard.press("Shift+ArrowRight")
    said = chart.get_by_role("status").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url("**from=2026-01-01T12%3A00%3A00.000Z**")

    number = int(said.partition(": ")[2].partition(" record")[0].replace(",", ""))
    assert 0 < number < 2 * REQUESTS
    assert page.locator("[data-row]").count() == min(number, 200)


def test_a_record_is_opened_and_closed_by_keys(open_tab: OpenTab) -> None:
    tab = open_tab(LOGS)
    page = tab.page

    for key in ("j", "j", "k", "j", "Enter"):
        page.keyboard.press(key)
    page.locator("details.record").wait_for()

    assert page.locator("[data-row]").nth(1).locator(":focus").count() == 1
    assert tab.serious_findings() == []
    assert tab.complaints == []


def test_a_hostile_record_is_text(open_tab: OpenTab) -> None:
    tab = open_tab(LOGS)
    page = tab.page
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))

    page.locator("[data-row] a").first.click()
    text = page.locator("details.record").inner_text()

    assert "<script>alert(1)</script>" in text
    assert "\u202e" not in text
    assert "{{ 7 * 7 }}" in text
    assert (dialogs, tab.complaints) == ([], [])


def test_the_histogram_is_a_page_without_scripts(open_tab: OpenTab) -> None:
    page = open_tab(LOGS, java_script_enabled=False).page

    page.get_by_role("link", name="Histogram and facets").click()

    page.get_by_text("Histogram as a table").click()
    assert page.locator("table[data-histogram] tbody tr").count() > 10
    page.get_by_role("link", name="ERROR", exact=True).click()
    # Rows are shown as they come.
    page.wait_for_load_state()
    assert page.locator("[data-row]").count() == ERRORS
