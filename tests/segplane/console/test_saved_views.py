"""Searches that are saved as views, by those who may."""

from collections.abc import Iterator

import pytest

from meta.roles import Role
from meta.v1 import catalog_pb2, operations_pb2
from segplane.gateway.console.viewer import Viewer
from segplane.gateway.http.callers import Caller
from tests.segplane.console.log_records import several, write_logs
from tests.segplane.console.test_login import browser, guard, log_in, server
from tests.segplane.console.test_logs import path
from tests.segplane.console.test_query_page import path as query_path
from tests.support.gateway.html import HtmlPage
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.visitors import AnyVisitors
from tests.support.gateway.web_client import WebClient
from tests.support.meta.guarded import GuardedServer
from tests.support.meta.server import MetaServer

__all__ = ["browser", "guard", "server"]
TOKEN = "of-the-session"


@pytest.fixture
def changing(meta_server: MetaServer, query_pool: SharedPool) -> Iterator[GatewayServer]:
    """A console that changes with the rights of the gateway."""
    viewer = Viewer(Caller("gateway"), "gateway", True, True, TOKEN)
    running = GatewayServer(meta_server.address, pool=query_pool, visitors=AnyVisitors(viewer))
    yield running
    running.close()


def hidden(page: HtmlPage, **others: str) -> dict[str, str]:
    fields = {
        e.attributes["name"]: e.attributes.get("value", "")
        for e in page.all("input")
        if e.attributes.get("name") in ("form_token", "dataset", "kql")
    }
    return fields | others


def test_a_search_becomes_a_view_of_what_it_finds(
    changing: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(2), {"body": "a needle", "attributes": {"n": 1}})
    client = WebClient(changing.port, f"127.0.0.1:{changing.port}", changing.server)
    search = ("q", "needle"), ("only", '["attributes.n",1]')

    assert "Save as a view" in HtmlPage(changing.get(path(*search))).text
    form = HtmlPage(changing.get(path(*search, route="logs/save")))
    made = client.post("/ui/views", hidden(form, name="needles"))
    again = client.post("/ui/views", hidden(form, name="needles"))
    page = HtmlPage(changing.get(query_path("needles | project body")))

    assert "audit log" in form.text
    assert (made.status, again.status) == (303, 409)
    assert made.location.startswith("query?")
    assert [cell.text for cell in page.all("td")] == ["a needle"]


def test_a_query_becomes_a_view_unless_it_is_more_than_one_can_be(
    changing: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(2))
    client = WebClient(changing.port, f"127.0.0.1:{changing.port}", changing.server)

    form = HtmlPage(
        changing.get(query_path("web | where body has '0' | project body", route="/save"))
    )
    assert client.post("/ui/views", hidden(form, name="zero")).status == 303
    counted = HtmlPage(changing.get(query_path("web | count", route="/save")))
    refused = client.post("/ui/views", hidden(counted, name="counted"))
    joined = changing.get(query_path("union web, web | take 1", route="/save"))

    assert refused.status == 400
    assert joined.status == 400
    catalog = segments.client.catalog
    views = catalog.ListViews(catalog_pb2.ListViewsRequest()).items
    assert [view.name for view in views] == ["zero"]
    request = catalog_pb2.ListProjectionsRequest()
    assert [each.name for each in catalog.ListProjections(request).items] == ["zero"]


def test_a_console_that_changes_nothing_saves_nothing(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(1))

    assert "Save as a view" not in HtmlPage(console.get(path())).text
    assert console.get(path(route="logs/save")).status == 403


def test_meta_decides_who_saves_and_names_them_in_the_audit_log(
    guard: GuardedServer, server: GatewayServer, browser: WebClient
) -> None:
    fields = {"dataset": "mine", "kql": "where signal == 'logs'"}
    answers = []
    for role in (Role.READER, Role.ADMIN):
        log_in(browser, guard.token(role, f"a {role.value}").plaintext_token)
        form = browser.get("/ui/logs/save?dataset=mine")
        fields |= {"form_token": form.form_token, "name": "saved"}
        answers.append(browser.post("/ui/views", fields).status)
        unsent = browser.post("/ui/views", fields | {"form_token": "of another"})
        assert unsent.status == 403

    assert answers == [403, 303]
    entries = guard.admin.operations.ListAuditRecords(
        operations_pb2.ListAuditRecordsRequest()
    ).records
    assert any("CreateView" in str(each) and "a admin" in str(each) for each in entries)
