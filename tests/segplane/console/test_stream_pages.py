"""The pages about streams: rulers, states and their reasons, who may see them."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from meta.config import Settings
from meta.roles import Role
from meta.v1 import nursery_pb2
from meta.v1 import operations_pb2 as ops
from meta.v1 import status_pb2 as pb
from segplane.gateway.console.operate.streams import PAGE_ROWS, WIDTH, ShownStream
from segplane.gateway.console.viewer import Viewer
from segplane.gateway.http.callers import Caller
from segplane.gateway.http.readers import ALL_DATASETS
from tests.segplane.console.test_logs import opened
from tests.support.gateway.html import HtmlPage
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.visitors import AnyVisitors
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.server import MetaServer
from tests.support.meta.two_datasets import TwoDatasets

UNKNOWN = "00000000-0000-7000-8000-000000000000"
HOSTILE = "<script>alert(1)</script>\u202e{{ 7 * 7 }}"


@pytest.fixture
def scene(meta_server: MetaServer) -> TwoDatasets:
    """Give a stream of four baby segments, of which web has merged all and app two."""
    made = TwoDatasets.create(meta_server)
    for offset in range(4):
        made.collector.commit(made.stream, offset, made.web, made.app)
    made.nursery.merge(made.web, made.stream, -1, 3)
    made.nursery.merge(made.app, made.stream, -1, 1)
    return made


def park(scene: TwoDatasets, reason: str) -> None:
    request = ops.ParkStreamRequest(stream_id=scene.stream, offset=2, reason=reason)
    scene.server.client.operations.ParkStream(request)


def row_of(page: HtmlPage, text: str) -> str:
    return next(row.text for row in page.all("tr") if text in row.text)


def test_a_stream_has_its_offsets_beside_a_ruler(
    console: GatewayServer, scene: TwoDatasets
) -> None:
    page = opened(console, "ui/streams")

    row = row_of(page, scene.stream)
    assert row.startswith(f"collector {scene.stream} active")
    assert " none 1 app 1 web 3 3 2 for " in row
    assert page.all("svg", class_="ruler")
    assert page.link("collector") == f"ui/streams/{scene.stream}"


def test_a_stream_has_a_page_with_all_of_its_datasets(
    console: GatewayServer, scene: TwoDatasets
) -> None:
    page = opened(console, f"ui/streams/{scene.stream}")

    assert [row_of(page, "app 1 2"), row_of(page, "web 3 0")] == ["app 1 2", "web 3 0"]
    assert opened(console, f"ui/streams?id={scene.stream}").text == page.text
    for path in (UNKNOWN, "x"):
        assert "there is no" in opened(console, f"ui/streams/{path}", 404).text


def test_a_parked_stream_comes_first_with_its_reason_and_the_command_that_follows(
    console: GatewayServer, scene: TwoDatasets
) -> None:
    park(scene, HOSTILE)

    page = opened(console, "ui/streams")

    assert page.all("h2")[0].text == "Streams that cannot continue"
    row = row_of(page, scene.stream)
    assert "parked cannot pass the baby segment at offset 2 for 0 s:" in row
    assert "<script>alert(1)</script>U+202E{{ 7 * 7 }}" in row
    assert f"segplane streams show {scene.stream}" in row
    assert scene.stream in opened(console, "ui/streams?state=parked").text
    assert "No stream has this state." in opened(console, "ui/streams?state=stopped").text


def test_a_dead_stream_is_distinguished_from_one_that_its_collector_ended(
    console: GatewayServer, scene: TwoDatasets
) -> None:
    stopped = nursery_pb2.MarkStreamStoppedRequest(
        stream_id=scene.stream, final_offset=3, reason=nursery_pb2.STOP_REASON_TIMEOUT
    )
    scene.server.client.nursery.MarkStreamStopped(stopped)

    row = row_of(opened(console, "ui/streams?state=stopped"), scene.stream)

    assert "dead its collector sent no commit for the timeout of a nursery" in row
    client_stop = pb.ListedStream(
        state=pb.STREAM_STATE_STOPPED, stop_reason=nursery_pb2.STOP_REASON_CLIENT
    )
    assert ShownStream(client_stop, 0).reason == "its collector has ended it"


def test_streams_come_in_pages(console: GatewayServer, scene: TwoDatasets) -> None:
    scene.execute(
        "WITH made AS (INSERT INTO ingest_streams (id, collector_id, collector_string, shard_hash)"
        " SELECT gen_random_uuid(), 'c-' || k, '', 0"
        " FROM generate_series(1, 50) k RETURNING id)"
        " INSERT INTO stream_heads (stream_id) SELECT id FROM made"
    )

    first = opened(console, "ui/streams")
    second = opened(console, first.link("Next"))

    names = {th.text for page in (first, second) for th in page.all("th", scope="row")}
    assert len(names) == PAGE_ROWS + 1
    assert len(second.all("th", scope="row")) == 1
    assert opened(console, second.link("First")).text.count("collector") > 0


def test_without_streams_the_page_says_so(console: GatewayServer, meta_server: MetaServer) -> None:
    assert "There is no stream" in opened(console, "ui/streams").text


@pytest.mark.parametrize("query", ["state=lost", "after=x"])
def test_a_list_that_is_asked_for_wrongly_is_refused(console: GatewayServer, query: str) -> None:
    assert opened(console, f"ui/streams?{query}", 400).all("h1")[0].text == "Refused"


def test_htmx_gets_the_part_that_changes_alone(console: GatewayServer, scene: TwoDatasets) -> None:
    page = opened(console, "ui/streams?state=active")
    (polled,) = [e for e in page.elements if "hx-trigger" in e.attributes]

    part = console.get(polled.attributes["hx-get"].lstrip("/"), **{"HX-Request": "true"})

    assert polled.attributes["hx-trigger"] == "every 10s"
    assert b"<html" not in part.body
    assert b"<h1" not in part.body
    assert scene.stream.encode() in part.body


def test_viewers_with_the_same_rights_share_a_read(
    console: GatewayServer, scene: TwoDatasets
) -> None:
    before = opened(console, "ui/streams")
    park(scene, "gone")

    assert opened(console, "ui/streams").text == before.text
    # Other parameters are another read.
    assert "gone" in opened(console, "ui/streams?state=parked").text


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as running:
        yield running


@pytest.mark.parametrize("role", [Role.OPERATOR_READ, Role.READER])
def test_operators_see_the_pages_and_readers_are_told_which_role_does(
    guard: GuardedServer, query_pool: SharedPool, role: Role
) -> None:
    viewer = Viewer(Caller(role.value, guard.token(role).plaintext_token), "a person")
    visitors = AnyVisitors(replace(viewer, rights=(role.value, ALL_DATASETS)))
    token = guard.token(Role.GATEWAY).plaintext_token
    console = GatewayServer(guard.address, token, pool=query_pool, visitors=visitors)
    try:
        is_operator = role is Role.OPERATOR_READ
        names = ("streams", "pipeline", "merges", "deletion")
        for name in names:
            page = opened(console, f"ui/{name}", 200 if is_operator else 403)
            assert ("needs the role operator-read" in page.text) is not is_operator
        links = {link.text for link in opened(console, "ui/").all("a")}
        assert ({"Pipeline", "Streams", "Merges", "Deletion"} <= links) is is_operator
        # A reader sees a dataset as far as its role goes.
        dataset = opened(console, "ui/dataset?dataset=default")
        assert ("Your role is not shown: usage." in dataset.text) is not is_operator
        assert "What holds its data" in dataset.text
    finally:
        console.close()


def test_a_ruler_is_from_what_is_deleted_to_the_end() -> None:
    stream = pb.ListedStream(
        deleted_offset=9, merged_offset=19, committed_offset=29, stopped_offset=29
    )
    stream.datasets.add(dataset_name="web", merged_offset=24)
    shown = ShownStream(stream, 0)

    assert {name: mark.x for name, mark in shown.marks.items()} == {
        "deleted": 0,
        "merged": WIDTH // 2,
        "committed": WIDTH,
        "stopped": WIDTH,
    }
    assert [(mark.x, mark.text) for mark in shown.dataset_marks] == [(750, "web: merged 24")]
    empty = ShownStream(
        pb.ListedStream(deleted_offset=-1, merged_offset=-1, committed_offset=-1), 0
    )
    assert {mark.x for mark in empty.marks.values()} == {WIDTH}
