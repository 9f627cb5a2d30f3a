"""The pages about the installation in a browser: a parked stream and why, and loading again."""

from dataclasses import replace
from urllib.parse import quote

import pytest

from meta.config import Settings
from meta.planning.planner import Policy
from meta.v1 import operations_pb2 as ops
from tests.segplane.console.browser.conftest import OpenTab
from tests.segplane.console.browser.installation import NAME, Installation
from tests.support.meta.server import MetaServer

pytestmark = pytest.mark.browser


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Merge three segments of a day."""
    return replace(meta_settings, merge_policy=Policy(files_max=2))


@pytest.fixture
def installation(meta_server: MetaServer) -> Installation:
    return Installation.create(meta_server.client)


def test_pages_are_accessible_light_dark_and_on_a_phone(
    open_tab: OpenTab, installation: Installation
) -> None:
    for path in (*installation.pages(), f"/ui/dataset?dataset={quote(NAME)}"):
        tab = open_tab(path, color_scheme="light")
        assert tab.serious_findings() == [], path
        tab.page.emulate_media(color_scheme="dark")
        assert tab.serious_findings() == [], path
        tab.page.set_viewport_size({"width": 360, "height": 740})
        assert tab.serious_findings() == [], path
        assert not tab.is_wider_than_its_window(), path
        assert tab.complaints == [], path


def test_pages_show_their_content_without_scripts_and_nothing_becomes_markup(
    open_tab: OpenTab, installation: Installation
) -> None:
    for path in (*installation.pages(), f"/ui/dataset?dataset={quote(NAME)}"):
        page = open_tab(path, java_script_enabled=False).page
        assert page.locator("main h1").is_visible(), path
        assert len(page.inner_text("main")) > 30, path
        assert page.locator("main img, main script").count() == 0, path
        assert "uuuuuuu" not in page.inner_text("main"), path


def test_a_parked_stream_is_met_on_the_way_from_the_pipeline_with_its_reason(
    open_tab: OpenTab, installation: Installation
) -> None:
    tab = open_tab("/ui/pipeline")

    assert tab.page.get_by_text("streams that cannot continue: 1").is_visible()
    tab.page.get_by_role("link", name="1 parked").click()
    row = tab.page.locator("tr", has_text=installation.stream)
    text = row.inner_text().replace("PARKED", "parked")
    assert "parked" in text
    assert "cannot pass the baby segment at offset 3" in text
    assert "object ingest-stream/17.parquet cannot be read" in text
    row.get_by_role("link").first.click()
    assert tab.page.locator("h1").inner_text() == f"Stream {installation.stream}"
    assert tab.page.get_by_role("link", name=NAME).is_visible()
    assert tab.complaints == []


def test_a_page_loads_again_while_it_is_visible_and_keeps_the_focus(
    open_tab: OpenTab, installation: Installation, meta_server: MetaServer
) -> None:
    page = open_tab("/ui/streams?tz=local", timezone_id="Asia/Tokyo").page
    link = page.get_by_role("link", name="collector-1")
    link.focus()
    park = ops.ParkStreamRequest(stream_id=installation.stream, offset=2, reason="worse")
    meta_server.client.operations.ParkStream(park)

    page.get_by_text("at offset 2").first.wait_for(timeout=60_000)

    assert link.evaluate("link => link === document.activeElement")
    times = page.locator("time:visible").all_inner_texts()
    assert times
    assert [time for time in times if not time.endswith("+09:00")] == []


def test_the_keyboard_goes_through_the_rows(open_tab: OpenTab, installation: Installation) -> None:
    page = open_tab("/ui/merges").page

    page.keyboard.press("j")
    page.keyboard.press("Enter")

    page.wait_for_url("**/ui/merges/task?**")
    assert installation.task in page.url
