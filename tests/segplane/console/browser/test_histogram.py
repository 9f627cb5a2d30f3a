"""The chart that the console's script draws from a table, and its brush."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.segplane.console.browser.conftest import OpenTab
from tests.support.browser.chromium import Tab

pytestmark = pytest.mark.browser

FROM_MS = 1_767_225_600_000
STEP_MS = 60_000
BUCKETS = 30
_ADD = """html => {
  const main = document.querySelector("main");
  main.insertAdjacentHTML("beforeend", html);
  htmx.process(main.lastElementChild);
}"""


def table() -> str:
    rows = "".join(
        f'<tr data-start="{FROM_MS + n * STEP_MS}"><th scope="row">{n}</th>'
        f'<td data-severity="error">{n % 4}</td><td data-severity="info">1,{n:03}</td></tr>'
        for n in range(BUCKETS)
        if n != 7
    )
    return (
        "<details><summary>Histogram as a table</summary><div>"
        f'<table data-histogram data-from="{FROM_MS}" data-to="{FROM_MS + BUCKETS * STEP_MS}"'
        f' data-step="{STEP_MS}"><thead><tr><th scope="col">Time</th><th scope="col">error</th>'
        f'<th scope="col">info</th></tr></thead><tbody>{rows}</tbody></table></div></details>'
    )


@pytest.fixture
def tab(open_tab: OpenTab) -> Tab:
    tab = open_tab("/ui/?q=failed&after=cursor", viewport={"width": 900, "height": 600})
    tab.page.evaluate(_ADD, table())
    return tab


def range_of(page: Any) -> list[str]:
    """Times of the page's address."""
    values = parse_qs(urlsplit(page.url).query)
    assert values["q"] == ["failed"]
    assert "after" not in values
    return [*values["from"], *values["to"]]


def test_the_table_is_drawn_and_stays(tab: Tab) -> None:
    page = tab.page

    assert page.locator(".chart canvas").count() == 1
    assert page.locator(".chart-legend li").all_inner_texts() == ["error", "info"]
    page.get_by_text("Histogram as a table").click()
    assert page.get_by_role("rowheader", name="29").is_visible()
    assert tab.serious_findings() == []
    assert tab.complaints == []


def test_dragging_over_the_chart_goes_to_the_range(tab: Tab) -> None:
    page = tab.page
    box = page.locator(".chart .u-over").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2

    page.mouse.move(box["x"] + box["width"] / 3, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, middle, steps=4)
    with page.expect_navigation():
        page.mouse.up()

    start, end = range_of(page)
    assert start.startswith(("2026-01-01T00:10", "2026-01-01T00:09"))
    assert end.startswith(("2026-01-01T00:15", "2026-01-01T00:14"))
    assert tab.complaints == []


def test_the_keyboard_brushes_as_the_mouse_does(tab: Tab) -> None:
    page = tab.page
    page.locator(".chart").focus()

    for key in ("ArrowRight", "ArrowRight", "Shift+ArrowRight"):
        page.keyboard.press(key)
    said = page.locator(".chart-range").inner_text()
    with page.expect_navigation():
        page.keyboard.press("Enter")

    assert "2,006 records: error 3, info 2,003" in said
    assert range_of(page) == ["2026-01-01T00:01:00.000Z", "2026-01-01T00:03:00.000Z"]


def test_escape_takes_the_selection_back(tab: Tab) -> None:
    page = tab.page
    page.locator(".chart").focus()
    page.keyboard.press("End")

    page.keyboard.press("Escape")

    assert page.locator(".chart-range").inner_text() == ""
    page.keyboard.press("Enter")
    assert "from=" not in page.url


def test_the_chart_follows_the_width_of_the_window(tab: Tab) -> None:
    page = tab.page
    page.set_viewport_size({"width": 360, "height": 740})

    page.wait_for_function("document.querySelector('.chart canvas').offsetWidth < 360")
    assert not tab.is_wider_than_its_window()


def test_local_time_is_in_the_address_and_goes_along(open_tab: OpenTab) -> None:
    tab = open_tab("/ui/?tz=local", timezone_id="Asia/Tokyo")
    page = tab.page

    page.evaluate(_ADD, '<p><time datetime="2026-01-01T20:00:00.123456789Z">x</time></p>')

    assert page.locator("time").inner_text() == "2026-01-02 05:00:00.123456789 +09:00"
    page.get_by_role("navigation").get_by_text("Datasets").click()
    page.wait_for_url("**/ui/?tz=local")
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0


def test_a_hidden_page_does_not_poll(open_tab: OpenTab) -> None:
    page = open_tab("/ui/").page
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    poll = '<div hx-get="/ui/?poll" hx-trigger="every 20ms" hx-swap="none">x</div>'
    with page.expect_request("**/ui/?poll"):
        page.evaluate(_ADD, poll)

    page.evaluate("Object.defineProperty(document, 'hidden', {get: () => true})")
    requests.clear()
    page.evaluate(
        "new Promise(done => { let ticks = 0; document.addEventListener('every', () => {"
        " if (++ticks === 5) done() }, true) })"
    )

    # At most the one that was on its way.
    assert len(requests) <= 1
