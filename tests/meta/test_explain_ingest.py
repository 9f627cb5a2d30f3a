"""ExplainDataset: the stages between a sender and the readers of a dataset."""

from dataclasses import dataclass

import psycopg
import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import InvalidArgument, NotFound
from meta.roles import Role
from meta.self_report import SILENT_SECS, Progress, waiting_part
from meta.store.registration import quarantined_ranges
from meta.store.streams import detached_streams
from meta.v1 import operations_pb2
from meta.v1 import status_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import set_settings
from tests.support.meta.explanations import WORKERS, explain, report
from tests.support.meta.guarded import guarded
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer

SECOND = 10**9
# Baby segments of `app` before two of `web`, all from seven minutes ago.
BEHIND = 150
BACKLOG = f"""
    INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes, num_records,
      committed_at, dataset_ids)
    SELECT cast(%(stream)s AS uuid), n, 1, 2, 1, 1, now() - interval '7 min' - interval '1 s',
      ARRAY[CASE WHEN n < {BEHIND} THEN cast(%(app)s AS uuid) ELSE cast(%(web)s AS uuid) END]
    FROM generate_series(0, {BEHIND + 1}) n
"""  # noqa: S608
HEAD = "UPDATE stream_heads SET committed_offset = %s, is_pending = true WHERE stream_id = %s"
# Ranges of schema violations, each apart from the next.
RANGES = """
    INSERT INTO quarantined_ranges (stream_id, verdict, first_offset, last_offset, dataset_id)
    SELECT cast(%s AS uuid), %s, 3 * n, 3 * n + 1, cast(%s AS uuid)
    FROM generate_series(1, cast(%s AS integer)) n
"""


@dataclass(frozen=True)
class Scene:
    """Dataset `web` with a stream, and dataset `app` in the same stream; all workers report."""

    client: MetaClient
    web: str
    app: str
    stream: str

    def commit(self, offset: int, *dataset_ids: str) -> None:
        IngestionDriver(self.client, "collector").commit(self.stream, offset, *dataset_ids)

    def merge(self, dataset_id: str, seen: int, merged: int) -> None:
        NurseryDriver(self.client).merge(dataset_id, self.stream, seen, merged)


@pytest.fixture
def scene(meta_client: MetaClient) -> Scene:
    catalog = CatalogDriver(meta_client)
    web, app = catalog.dataset("web"), catalog.dataset("app")
    token = catalog.token(web)
    catalog.route(token, logs=web, traces=app)
    stream = IngestionDriver(meta_client, "collector").register(token).stream_id
    report(meta_client, *WORKERS)
    return Scene(meta_client, web, app, stream)


def let_be_silent(meta: MetaServer, kind: str) -> None:
    """Let a kind of process have reported last so long ago that it does not run."""
    # A written report stays in memory until the next save.
    for _ in range(2):
        meta.running.reports.save()
    with psycopg.connect(meta.settings.database.url) as connection:
        connection.execute(
            "UPDATE processes SET last_seen_nanos = last_seen_nanos - %s WHERE kind = %s",
            [SILENT_SECS * SECOND, kind],
        )


def test_a_dataset_in_order_is_held_by_nothing(scene: Scene) -> None:
    scene.commit(0, scene.web)
    scene.merge(scene.web, -1, 0)

    by_name = scene.client.status.ExplainDataset(pb.ExplainDatasetRequest(name="web"))
    by_id = scene.client.status.ExplainDataset(pb.ExplainDatasetRequest(id=scene.web))

    assert list(by_name.holdings) == list(by_id.holdings) == []
    assert (by_id.dataset_id, by_id.dataset_name) == (scene.web, "web")
    assert by_name.database_time_nanos < by_id.database_time_nanos


def test_a_dataset_without_a_token_gets_no_records(meta_client: MetaClient) -> None:
    catalog = CatalogDriver(meta_client)
    web = catalog.dataset("web")
    report(meta_client, *WORKERS)
    assert explain(meta_client).keys() == {"NO_TOKEN", "NO_STREAM"}

    token = catalog.token(web)
    assert explain(meta_client).keys() == {"NO_STREAM"}
    IngestionDriver(meta_client, "collector").register(token)
    assert explain(meta_client).keys() == set()
    catalog.route(token, metrics=web)
    assert explain(meta_client).keys() == set()
    catalog.revoke(token)

    Writer(meta_client).save_many(web, 2)
    held = explain(meta_client)
    assert held.keys() == {"NO_TOKEN"}
    assert held["NO_TOKEN"].amount == 2


def test_committed_records_await_a_nursery_until_it_merges_them(scene: Scene) -> None:
    scene.commit(0, scene.web)
    scene.commit(1, scene.app)

    held = explain(scene.client)

    assert held.keys() == {"AWAITS_NURSERY"}
    waiting = held["AWAITS_NURSERY"]
    assert (list(waiting.subjects), waiting.amount) == ([scene.stream], 1)
    reply = scene.client.status.ExplainDataset(pb.ExplainDatasetRequest(name="web"))
    assert 0 <= reply.database_time_nanos - waiting.since_nanos < 60 * SECOND
    scene.merge(scene.web, -1, 0)
    assert explain(scene.client) == {}
    assert explain(scene.client, "app").keys() == {"AWAITS_NURSERY"}


def test_records_behind_a_backlog_of_another_dataset_wait_as_freshness_has_it(
    meta_server: MetaServer, scene: Scene
) -> None:
    with psycopg.connect(meta_server.settings.database.url) as connection:
        connection.execute(BACKLOG, {"stream": scene.stream, "web": scene.web, "app": scene.app})
        connection.execute(HEAD, [BEHIND + 1, scene.stream])

    waiting = explain(scene.client)["AWAITS_NURSERY"]

    request = pb.ListFreshnessRequest(name="web")
    reply = scene.client.status.ListFreshness(request)
    (web,) = reply.datasets
    assert (web.offset, web.babies) == (BEHIND, 2)
    assert (waiting.since_nanos, waiting.amount) == (web.oldest_committed_at_nanos, 2)
    assert list(waiting.subjects) == [scene.stream]
    assert reply.database_time_nanos - waiting.since_nanos > 420 * SECOND


def test_no_nursery_reports_before_one_does_after_its_end_and_after_its_silence(
    meta_server: MetaServer,
) -> None:
    client = meta_server.client
    CatalogDriver(client).dataset("web")
    assert explain(client)["NO_NURSERY"].since_nanos == 0

    report(client, "nursery")
    assert "NO_NURSERY" not in explain(client)
    report(client, "nursery", is_ending=True)
    assert explain(client)["NO_NURSERY"].since_nanos > 0

    report(client, "nursery", started_at_nanos=8)
    meta_server.running.reports.save()
    assert "NO_NURSERY" not in explain(client)
    let_be_silent(meta_server, "nursery")
    silent = explain(client)["NO_NURSERY"]
    reply = client.status.ExplainDataset(pb.ExplainDatasetRequest(name="web"))
    assert SILENT_SECS <= (reply.database_time_nanos - silent.since_nanos) / SECOND < 300


def test_a_collector_that_was_killed_leaves_its_streams_without_any(
    meta_server: MetaServer, scene: Scene
) -> None:
    assert explain(scene.client) == {}
    report(scene.client, "collector")
    assert explain(scene.client) == {}

    let_be_silent(meta_server, "collector")

    held = explain(scene.client)
    assert held.keys() == {"NO_COLLECTOR"}
    assert held["NO_COLLECTOR"].since_nanos > 0


def test_a_parked_stream_holds_the_datasets_that_have_records_in_it(scene: Scene) -> None:
    scene.commit(0, scene.app)
    scene.commit(1, scene.web)
    park = operations_pb2.ParkStreamRequest(stream_id=scene.stream, offset=0, reason="it is gone")
    scene.client.operations.ParkStream(park)

    held = explain(scene.client)

    # The baby segment that cannot be read is of the other dataset, and comes first.
    assert held.keys() == {"PARKED"}
    parked = held["PARKED"]
    assert (list(parked.subjects), parked.amount) == ([scene.stream], 1)
    assert parked.detail == "offset 0: it is gone"
    assert parked.since_nanos > 0
    assert explain(scene.client, "app").keys() == {"PARKED"}
    scene.merge(scene.app, -1, 0)
    assert explain(scene.client).keys() == {"AWAITS_NURSERY"}


def test_a_nursery_that_reports_why_it_withholds_a_dataset_is_named(scene: Scene) -> None:
    progress = Progress()
    progress.failed("10 events more than were counted", waiting_part(scene.web))
    checks = [pb.ProcessCheck(name="work", text=text) for text in progress.failures()]

    report(scene.client, "nursery", name="host-2", checks=checks)

    held = explain(scene.client)
    assert held.keys() == {"WITHHELD"}
    assert (list(held["WITHHELD"].subjects), held["WITHHELD"].amount) == (["host-2"], 1)
    assert held["WITHHELD"].detail == "10 events more than were counted"
    assert "WITHHELD" not in explain(scene.client, "app")
    report(scene.client, "nursery", name="host-2", is_ending=True)
    assert explain(scene.client) == {}


def test_a_nursery_of_another_subject_cannot_end_the_one_that_reports(
    meta_settings: Settings,
) -> None:
    with guarded(meta_settings) as guard:
        CatalogDriver(guard.admin).dataset("web")
        with guard.client(Role.NURSERY, "mine") as mine:
            report(mine, "nursery")
        guard.running.reports.save()
        with guard.client(Role.NURSERY, "a stranger") as stranger:
            report(stranger, "nursery", is_ending=True)
        assert "NO_NURSERY" not in explain(guard.admin)


def test_a_stream_of_a_restored_database_awaits_a_reconciliation(
    meta_server: MetaServer, scene: Scene
) -> None:
    with meta_server.running.database.write() as tx:
        assert detached_streams.detach_all(tx) == 1

    held = explain(scene.client)["AWAITS_RECONCILE"]

    assert (list(held.subjects), held.amount) == ([scene.stream], 1)
    assert "AWAITS_RECONCILE" not in explain(scene.client, "default")


def test_the_quota_of_the_month_holds_a_dataset_from_its_last_record_on(scene: Scene) -> None:
    settings = operations_pb2.DatasetSettings(records_per_month=20)
    set_settings(scene.client, scene.web, settings)
    scene.commit(0, scene.web)
    assert "QUOTA_REACHED" not in explain(scene.client)
    scene.commit(1, scene.web)

    held = explain(scene.client)["QUOTA_REACHED"]

    assert (held.amount, held.limit) == (20, 20)


def test_quarantined_records_are_counted_whatever_ranges_other_datasets_have(
    meta_server: MetaServer, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = quarantined_ranges.RANGES_MAX
    token = CatalogDriver(scene.client).token(scene.web)
    newer = IngestionDriver(scene.client, "another").register(token).stream_id

    def add(stream: str, verdict: str, dataset_id: str, ranges: int) -> pb.Holding:
        with psycopg.connect(meta_server.settings.database.url) as connection:
            connection.execute(RANGES, [stream, verdict, dataset_id, ranges])
        return explain(scene.client).get("QUARANTINED", pb.Holding())

    assert add(scene.stream, "a", scene.app, most).amount == 0
    assert add(scene.stream, "b", scene.web, 1).amount == 2
    assert add(scene.stream, "c", scene.web, most).amount == 2 * most
    assert set(add(newer, "a", scene.web, 1).subjects) == {scene.stream, newer}
    monkeypatch.setattr(quarantined_ranges, "STREAMS_MAX", 1)
    assert list(explain(scene.client)["QUARANTINED"].subjects) == [newer]


def test_a_dataset_is_named_by_its_id_or_its_name(meta_client: MetaClient) -> None:
    for request in (
        pb.ExplainDatasetRequest(name="missing"),
        pb.ExplainDatasetRequest(id="0197c9a2-7f3e-7000-8000-000000000001"),
    ):
        with pytest.raises(NotFound):
            meta_client.status.ExplainDataset(request)
    for request in (pb.ExplainDatasetRequest(), pb.ExplainDatasetRequest(id="x")):
        with pytest.raises(InvalidArgument):
            meta_client.status.ExplainDataset(request)
