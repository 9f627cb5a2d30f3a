"""The page of the quarantine: counts, downloads and commands, of what a person may see."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import pytest

from meta.config import Settings
from meta.roles import Role
from meta.secrets import token_name
from segments.keys import quarantine_key
from segplane.gateway.console.operate.quarantine import ROWS
from segplane.gateway.console.viewer import Viewer
from segplane.gateway.http.callers import Caller
from segplane.gateway.http.readers import DatasetScope
from tests.segplane.console.test_logs import opened
from tests.segplane.gateway.test_quarantine_of_tenants import BROKEN, Scene
from tests.support.gateway.html import HtmlPage
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.tenants import NAMES, shared_gateway
from tests.support.gateway.visitors import AnyVisitors
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, logs, nursery


def rows(page: HtmlPage, text: str) -> list[str]:
    return [row.text for row in page.all("tr") if text in row.text]


def test_payloads_are_counted_by_cause_and_dataset_and_lead_to_their_bytes(
    console: GatewayServer, meta_server: MetaServer
) -> None:
    assert "No payload is in the quarantine." in opened(console, "ui/quarantine").text
    web = CatalogDriver(meta_server.client).dataset("web")
    collector = CollectorDriver(meta_server.client, web)
    collector.commit(collector.put("good", payloads=(BROKEN,) * (ROWS + 2)))
    nursery(meta_server.client).cycle()

    # Another page than the one that is kept for a minute.
    page = opened(console, "ui/quarantine?dataset=web")
    second = opened(console, page.link("Next"))

    assert rows(page, "undecodable web")[0].startswith(f"undecodable web {ROWS + 2} ")
    keys = [
        quarantine_key(collector.stream_id, 0, collector.token_id, "logs", number)
        for number in range(1, ROWS + 3)
    ]
    commands = [row for each in (page, second) for row in rows(each, "quarantine replay")]
    assert sorted(row.split(" ")[-1] for row in commands) == sorted(keys)
    download = console.get(f"ui/quarantine/payload?key={quote(keys[0])}")
    assert (download.status, download.body) == (200, BROKEN)
    assert download.headers["content-disposition"].startswith("attachment;")
    assert "No payload fits." in opened(console, "ui/quarantine?cause=no_route").text
    assert opened(console, "ui/quarantine/payload?key=ingest-stream/x", 404)
    assert opened(console, "ui/quarantine?dataset=none", 404)


@contextmanager
def console_of(scene: Scene, pool: SharedPool, tenant: str, role: str) -> Iterator[GatewayServer]:
    """Run a console for a person of a tenant."""
    guard, id_ = scene.shared.tenants.guard, f"//{scene.shared.tenant_ids[tenant]}"
    secret = scene.shared.tokens[tenant]
    caller = Caller(token_name(secret), secret).within(id_)
    viewer = Viewer(caller, "ann", rights=(role, DatasetScope(None, id_)))
    token = guard.token(Role.GATEWAY).plaintext_token
    running = GatewayServer(
        guard.address, token, pool=pool, visitors=AnyVisitors(viewer), meta_auth_token=token
    )
    try:
        yield running
    finally:
        running.close()


@pytest.mark.long
def test_the_people_of_a_tenant_see_its_payloads_alone(
    meta_settings: Settings, query_pool: SharedPool
) -> None:
    with shared_gateway(meta_settings, query_pool) as shared:
        scene = Scene(shared)
        scene.fill()
        for name, other in (NAMES, NAMES[::-1]):
            with console_of(scene, query_pool, name, "tenant-admin") as console:
                page = opened(console, "ui/quarantine")
                assert rows(page, "no_route")[0].startswith("no_route not known 1 ")
                assert rows(page, "undecodable")[0].startswith("undecodable shop/web 1 ")
                own, theirs = ((scene.broken[each], scene.stray[each]) for each in (name, other))
                assert all(rows(page, key) for key in own)
                assert not [key for key in (*theirs, scene.whole) if key in page.text]
                stray = console.get(f"ui/quarantine/payload?key={quote(own[1])}")
                assert stray.body == logs(f"healed of {name}")
                for key in (*theirs, scene.whole):
                    opened(console, f"ui/quarantine/payload?key={quote(key)}", 404)
                offered = [link.text for link in page.all("a")]
                assert ("Quarantine" in offered, "Pipeline" in offered) == (True, False)
