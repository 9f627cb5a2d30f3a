"""The pages about the pipeline, merges, deletion and one dataset."""

from dataclasses import replace
from uuid import uuid4

import pytest

from meta.config import Settings
from meta.planning.planner import Policy
from meta.v1 import catalog_pb2, resources_pb2
from meta.v1 import operations_pb2 as ops
from meta.v1 import status_pb2 as pb
from segplane.gateway.console.operate.pipeline import ShownDataset
from segplane.gateway.console.viewer import Viewer
from segplane.gateway.http.callers import Caller
from segplane.gateway.http.readers import ALL_DATASETS
from segplane.health.freshness import JudgedDataset
from tests.segplane.console.test_logs import opened
from tests.support.gateway.html import HtmlPage
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.visitors import AnyVisitors
from tests.support.meta.segments import WorkerDriver
from tests.support.meta.server import MetaServer
from tests.support.meta.two_datasets import TwoDatasets

HOSTILE = "<script>alert(1)</script>"
SECOND = 10**9


@pytest.fixture
def scene(meta_server: MetaServer) -> TwoDatasets:
    """Give a stream whose first eight baby segments are four segments, and a ninth one."""
    made = TwoDatasets.create(meta_server)
    for offset in range(9):
        made.collector.commit(made.stream, offset, made.web)
    for first in range(-1, 7, 2):
        made.nursery.merge(made.web, made.stream, first, first + 2)
    made.sweep()
    return made


def rows(page: HtmlPage) -> list[str]:
    return [row.text for row in page.all("tr")]


def row_of(page: HtmlPage, text: str) -> str:
    return next(row for row in rows(page) if text in row)


def test_the_pipeline_has_its_stages_freshness_and_what_is_wrong(
    console: GatewayServer, scene: TwoDatasets
) -> None:
    scene.execute("UPDATE baby_segments SET committed_at = committed_at - interval '1 hour'")
    WorkerDriver(scene.server.client, "worker-1").plan()

    page = opened(console, "ui/pipeline")

    assert row_of(page, "Committed").endswith("merge 1 1000 B 1 h")
    assert row_of(page, "Compacting").startswith("Compacting segments in open merge tasks 4 3.9")
    assert row_of(page, "Visible").startswith("Visible segments that readers see 4 3.9")
    assert row_of(page, "web").startswith("web late 1 h no nursery 1")
    assert "Needs a person: web: records wait for 1 h, no nursery no nursery reports" in page.text
    assert "1 active, 0 stopped and not drained, 0 parked" in page.text
    assert page.link("web") == "ui/dataset?dataset=web"


def test_without_data_the_pages_say_so(console: GatewayServer, meta_server: MetaServer) -> None:
    assert "ok: nothing waits" in opened(console, "ui/pipeline").text
    assert "No merge task was claimed yet" in opened(console, "ui/merges").text
    deletion = opened(console, "ui/deletion").text
    assert "Nothing falls due" in deletion
    assert "Nothing that falls due is held" in deletion


def test_the_last_hour_is_a_line_with_its_numbers() -> None:
    now = 10**18
    dataset = pb.DatasetFreshness(flushes=9, p50_nanos=2 * SECOND, p99_nanos=8 * SECOND)
    for minutes, seconds in ((50, 4), (10, 8)):
        dataset.periods.add(
            start_nanos=now - minutes * 60 * SECOND, flushes=3, p99_nanos=seconds * SECOND
        )
    shown = ShownDataset(JudgedDataset(dataset, None, 0), now)

    assert (shown.age, shown.last_hour) == ("", "p50 2.0 s, p99 8.0 s")
    assert shown.line == "20.0,10.0 100.0,1.0"
    assert [point.p99 for point in shown.points] == ["4.0 s", "8.0 s"]


def test_merges_are_attempts_by_worker_and_the_task_of_each(
    console: GatewayServer, scene: TwoDatasets
) -> None:
    worker = WorkerDriver(scene.server.client, HOSTILE)
    worker.plan()
    task = worker.poll()

    running = opened(console, "ui/merges")
    worker.fail(task)
    failed = opened(console, f"ui/merges/task?id={task.task_id}")

    row = row_of(running, task.task_id)
    assert row.startswith(f"{task.task_id} merge, attempt 1 web running lease ends in ")
    assert HOSTILE in row
    assert row_of(running, "Attempts over time").startswith("Worker")
    assert running.all("svg", class_="lanes")
    assert "Open merge tasks: 1." in running.text
    assert "failed it broke" in row_of(failed, HOSTILE)
    assert "State open" in failed.text


def test_a_segment_is_explained_before_and_after_its_merge(
    console: GatewayServer, scene: TwoDatasets
) -> None:
    explained = scene.server.client.operations.ExplainMergePlan(ops.ExplainMergePlanRequest())
    first, second = (each.segment.id for each in explained.segments[:2])
    before = opened(console, f"ui/merges/segment?id={first}")
    worker = WorkerDriver(scene.server.client, "worker-1")
    worker.plan()
    task = worker.poll()
    output = worker.output(task)
    worker.complete(task.task_id, output)

    after = opened(console, f"ui/merges/segment?id={second}")

    assert "The segment will be merged. Reason: " in before.text
    assert "merged" in row_of(before, first)
    assert "The segment was merged into " in after.text
    assert f"{task.task_id} attempt 1 worker-1" in row_of(after, "compacted")
    assert "dataset web" in after.text


@pytest.mark.parametrize("path", ["merges/segment", "merges/task"])
def test_what_is_not_there_is_refused(
    console: GatewayServer, scene: TwoDatasets, path: str
) -> None:
    for text in ("", "x", str(uuid4())):
        assert "there is no" in opened(console, f"ui/{path}?id={text}", 404).text


def test_deletion_has_what_falls_due_and_what_waits(
    console: GatewayServer, scene: TwoDatasets
) -> None:
    worker = WorkerDriver(scene.server.client, "worker-1")
    worker.plan()
    task = worker.poll()
    worker.complete(task.task_id, worker.output(task))

    page = opened(console, "ui/deletion")

    assert "segments to be deleted:" in page.text
    assert "web merged or rewritten 4 3.91 KiB" in row_of(page, "merged or rewritten")
    assert page.all("svg", class_="lanes")
    assert "merged or rewritten" not in opened(console, "ui/deletion?dataset=app").text
    assert "there is no" in opened(console, "ui/deletion?dataset=none", 404).text
    opened(console, f"ui/deletion?dataset={'x' * 256}", 400)


def test_the_plan_of_deletion_is_shared_for_a_minute_without_owners_of_pins(
    console: GatewayServer, scene: TwoDatasets, query_pool: SharedPool
) -> None:
    client = scene.server.client
    pin = ops.PinVersionRequest(pin_id=str(uuid4()), dataset_name="web", owner="ada", lease_secs=60)
    client.operations.PinVersion(pin)
    worker = WorkerDriver(client, "worker-1")
    worker.plan()
    task = worker.poll()
    worker.complete(task.task_id, worker.output(task))
    # Pins hold what falls due while they last.
    scene.execute("UPDATE segments SET tombstone_at = now() - interval '30 days'"
                  " WHERE tombstone_version IS NOT NULL")  # fmt: skip
    reader = Viewer(Caller("eve"), "eve", rights=("operator-read", ALL_DATASETS))
    shared = GatewayServer(scene.server.address, pool=query_pool, visitors=AnyVisitors(reader))

    named, unnamed = opened(console, "ui/deletion").text, opened(shared, "ui/deletion").text
    shared.close()

    assert "pin of ada at version" in named
    assert "pin of another caller at version" in unnamed
    assert "shared for up to 60 s" in unnamed


def test_a_dataset_has_its_facts_settings_and_what_holds_its_data(
    console: GatewayServer, scene: TwoDatasets
) -> None:
    client = scene.server.client
    ref = resources_pb2.ResourceRef(kind=resources_pb2.RESOURCE_KIND_DATASET, id=scene.web)
    client.resources.UpdateResource(
        resources_pb2.UpdateResourceRequest(
            resource=ref, title=HOSTILE, note="orders", set_labels={"team": HOSTILE}
        )
    )
    client.catalog.CreateView(catalog_pb2.CreateViewRequest(name="errors"))

    page = opened(console, "ui/dataset?dataset=web")

    assert page.all("h1")[0].text == f"web {HOSTILE}"
    assert f"Label team {HOSTILE}" in rows(page)
    assert "Note orders" in rows(page)
    assert "Records 40" in rows(page)
    assert "Segments 4" in rows(page)
    assert "no nursery reports, so committed records stay unmerged" in row_of(page, "no nursery")
    assert "Records in " in page.text
    assert "Your role is not shown" not in page.text
    assert "there is no" in opened(console, "ui/dataset?dataset=none", 404).text


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Merge three segments of a day."""
    return replace(meta_settings, merge_policy=Policy(files_max=2))
