"""The list of datasets, and the page of one without records."""

import shlex
from pathlib import Path

import pytest

from meta.v1 import resources_pb2
from segplane.gateway.console.pages.datasets import PAGE_ROWS
from tests.segplane.console.log_records import several, write_logs
from tests.segplane.console.test_logs import opened
from tests.support.gateway.html import HtmlPage
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.groups import create_group
from tests.support.meta.server import MetaServer


def names(page: HtmlPage) -> list[str]:
    return [cell.text for cell in page.all("th", scope="row")]


def test_the_console_begins_with_the_datasets_and_their_numbers(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(3))
    resource = resources_pb2.ResourceRef(
        kind=resources_pb2.RESOURCE_KIND_DATASET, id=segments.dataset
    )
    segments.client.resources.UpdateResource(
        resources_pb2.UpdateResourceRequest(resource=resource, title="<b>Web</b>")
    )

    page = opened(console, "ui/")

    row = next(row for row in page.all("tr") if row.text.startswith("web"))
    assert row.text.startswith(
        "web <b>Web</b> 3 2026-01-01 12:00:00.000000 2026-01-01 12:00:02.000000"
    )
    assert page.link("web") == "ui/logs?dataset=web"
    assert "default" in names(page)


def test_datasets_come_in_pages_by_the_beginning_of_their_names(
    console: GatewayServer, meta_server: MetaServer
) -> None:
    catalog = CatalogDriver(meta_server.client)
    for number in range(PAGE_ROWS + 1):
        catalog.dataset(f"many-{number:03d}")

    first = opened(console, "ui/?name=many-")
    second = opened(console, first.link("Next"))

    assert (len(names(first)), names(second)) == (PAGE_ROWS, [f"many-{PAGE_ROWS:03d}"])
    assert not [link for link in second.all("a") if link.text == "Next"]
    assert names(opened(console, second.link("First"))) == names(first)
    assert names(opened(console, "ui/?name=many-01")) == [f"many-01{n}" for n in range(10)]
    assert "No dataset has such a name" in opened(console, "ui/?name=few").text


def test_a_dataset_with_the_longest_name_is_in_the_list(
    console: GatewayServer, meta_server: MetaServer
) -> None:
    name = "x" * 255
    CatalogDriver(meta_server.client).dataset(name)

    assert names(opened(console, f"ui/?name={name}")) == [name]
    assert names(opened(console, f"ui/?name={name[:254]}")) == [name]


@pytest.mark.parametrize("query", ["name=" + "x" * 256, "after=x"])
def test_a_list_that_is_asked_for_wrongly_is_refused(console: GatewayServer, query: str) -> None:
    page = opened(console, f"ui/?{query}", 400)

    assert [each for each in page.elements if each.attributes.get("role") == "alert"]


def test_a_dataset_without_records_shows_how_to_send_some_until_it_has_one(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    page = opened(console, "ui/logs?dataset=web")
    (polled,) = [e for e in page.elements if "hx-trigger" in e.attributes]
    address = polled.attributes["hx-get"].lstrip("/")
    before = console.get(address, **{"HX-Request": "true"})

    write_logs(segments, *several(1))
    after = console.get(address, **{"HX-Request": "true"})

    for text in ("segplane tokens create my-app --dataset web", "curl", "otlphttp/segplane"):
        assert text in page.text
    assert polled.attributes["hx-trigger"] == "every 5s"
    assert (before.status, before.body, "hx-redirect" in before.headers) == (204, b"", False)
    assert after.status == 204
    # The first record is on the page, however old it is.
    logs = opened(console, f"ui/{after.headers['hx-redirect']}")
    assert "line 0" in logs.text
    assert "line 0" in opened(console, page.link("Look now")).text


def test_a_dataset_of_a_group_with_a_strange_name_has_pages(
    console: GatewayServer, meta_server: MetaServer, tmp_path: Path
) -> None:
    create_group(meta_server.client, "shop")
    name = "shop/it's <b>\\n"
    dataset = CatalogDriver(meta_server.client).dataset(name)
    listed = opened(console, "ui/")

    empty = opened(console, listed.link(name))
    write_logs(SegmentWriter(meta_server.client, dataset, tmp_path), *several(1))
    logs = opened(console, empty.link("Look now"))

    command = next(e.text for e in empty.all("pre") if "tokens create" in e.text).split("export")[0]
    assert shlex.split(command)[-1] == name
    assert logs.all("td", class_="body")[0].text == "line 0"


def test_a_dataset_that_is_not_there_is_refused(console: GatewayServer) -> None:
    assert "there is no dataset" in opened(console, "ui/empty?dataset=no", 404).text
    assert "there is no dataset" in opened(console, "ui/logs?dataset=no", 400).text


def test_a_page_that_is_not_there_is_refused(console: GatewayServer) -> None:
    assert console.get("ui/nothing").status == 404
