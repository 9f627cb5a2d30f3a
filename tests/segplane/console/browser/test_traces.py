"""Traces in a real browser: from a log to its trace and back, and what a large trace costs."""

import time

import pytest

from tests.segplane.console.browser.conftest import OpenTab
from tests.support.browser.chromium import Tab
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.traces import MS, TRACE, log_row, span_row, write_rows

pytestmark = [pytest.mark.browser, pytest.mark.long]
START = time.time_ns() - 60 * 10**9
ELEMENTS_MAX = 1_500
CPU_SECS_MAX = 2.0


def write_trace(segments: SegmentWriter, spans: int = 3) -> None:
    rows = [span_row("1", start_nanos=START, length_ms=spans + 100, name="GET /cart")]
    rows += [
        span_row(f"{n:x}", f"{n - 1 if n % 200 else 1:x}", start_nanos=START + n * MS,
                 status_code=2 if n == 3 else 0, service_name="stock")
        for n in range(2, spans + 1)
    ]  # fmt: skip
    error = log_row("no stock", nanos=START + 2 * MS, severity_number=17, attributes='{"sku": 7}')
    write_rows(segments, traces=rows, logs=[error])


def assert_sound(tab: Tab) -> None:
    assert tab.serious_findings() == []
    tab.page.set_viewport_size({"width": 360, "height": 740})
    assert not tab.is_wider_than_its_window()
    assert tab.complaints == []


def test_a_log_leads_to_its_trace_and_the_trace_back(
    open_tab: OpenTab, segments: SegmentWriter
) -> None:
    write_trace(segments)
    tab = open_tab("/ui/logs?dataset=web&q=stock", color_scheme="dark")
    page = tab.page

    page.locator("tr[data-row] a").first.click()
    page.get_by_role("link", name="The trace").click()
    assert page.get_by_role("heading", level=1).inner_text() == f"Trace {TRACE}"
    page.get_by_role("link", name="op 3").click()
    page.locator("#span-details").get_by_text("Zoom to this span").wait_for()
    page.get_by_text("no stock").wait_for()
    assert page.get_by_role("heading", name="op 3").is_visible()
    assert_sound(tab)
    page.locator("table.records a").click()
    page.get_by_role("link", name="Around this").click()

    assert "This record: no stock" in page.locator("tr.marked").inner_text()
    assert_sound(tab)


def test_pages_of_traces_and_downloads_are_sound(
    open_tab: OpenTab, segments: SegmentWriter
) -> None:
    write_trace(segments)

    for path in ("traces?dataset=web", "traces?dataset=web&q=name+%3D", "logs/share?dataset=web"):
        assert_sound(open_tab(f"/ui/{path}"))
    tab = open_tab("/ui/traces?dataset=web")
    tab.page.locator(".find input[name=q]").fill(TRACE)
    tab.page.keyboard.press("Enter")
    tab.page.get_by_role("link", name="close 2 spans below").click()
    tab.page.get_by_role("link", name="open 2 spans below").wait_for()


def test_a_trace_of_ten_thousand_spans_opens_within_its_cpu_time(
    open_tab: OpenTab, segments: SegmentWriter
) -> None:
    write_trace(segments, 10_000)
    tab = open_tab("/ui/")
    session = tab.page.context.new_cdp_session(tab.page)
    session.send("Performance.enable")

    tab.page.goto(tab.page.url + f"traces/{TRACE}?dataset=web")
    tab.page.get_by_text("no stock").wait_for()

    metrics = session.send("Performance.getMetrics")["metrics"]
    cpu_secs = next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")
    assert tab.page.locator("*").count() <= ELEMENTS_MAX
    assert cpu_secs <= CPU_SECS_MAX
