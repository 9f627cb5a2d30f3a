"""segplane vacuum: a real meta and a janitor over a folder as bucket."""

import json
from dataclasses import replace
from threading import Thread

import pytest
from google.protobuf.duration_pb2 import Duration

from dataplane.location import ask_location
from janitor.config import Settings as JanitorSettings
from janitor.jobs import Tools, delete_tombstoned
from janitor.vacuums import carry_out_vacuums
from meta.client import MetaClient
from meta.config import Settings
from meta.errors import VersionExpired
from meta.planning.planner import Policy
from meta.process.shutdown import Shutdown
from meta.v1 import operations_pb2, resources_pb2
from segments.store.open import open_stores
from tests.support.command_line import RunCommand
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.pins import PinDriver
from tests.support.meta.segments import DAY, EPOCH, segment_of
from tests.support.meta.server import MetaServer
from tests.support.vacuum_case import VacuumCase, janitor
from tests.support.waiting import wait_until

MERGES = 100
GRACE_SECS = 7 * 86_400


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Merge three segments of a day."""
    return replace(meta_settings, merge_policy=Policy(files_max=2))


@pytest.fixture
def dataset(meta_client: MetaClient) -> str:
    """A dataset with a grace of 7 days."""
    dataset_id = CatalogDriver(meta_client).dataset("web")
    settings = operations_pb2.DatasetSettings(tombstone_grace=Duration(seconds=GRACE_SECS))
    request = operations_pb2.SetDatasetSettingsRequest(dataset_id=dataset_id, settings=settings)
    meta_client.operations.SetDatasetSettings(request)
    return dataset_id


@pytest.fixture
def tools(meta_client: MetaClient, meta_server: MetaServer) -> Tools:
    """Dependencies of a janitor's jobs; meta has seen it."""
    stores = ask_location(meta_client, "janitor").stores
    settings = JanitorSettings(meta_address=meta_server.address)
    return Tools(meta_client, open_stores(stores), stores, settings, Shutdown(), "janitor")


@pytest.fixture
def case(
    meta_client: MetaClient, meta_server: MetaServer, dataset: str, tools: Tools
) -> VacuumCase:
    return VacuumCase(meta_client, meta_server, dataset, tools.store)


@pytest.mark.long
def test_a_vacuum_below_the_grace_deletes_as_many_bytes_as_it_prints(
    run: RunCommand, case: VacuumCase, tools: Tools
) -> None:
    case.save(MERGES)
    assert case.merge() == MERGES
    old = case.version() - 1
    extra = case.put_table() + case.put_orphan()
    case.age()
    live = case.writer.find_ids("web")
    before = case.size()
    delete_tombstoned(tools)
    assert case.size() == before

    planned = run("vacuum", "web", "--older-than", "1h", "--dry-run")
    unchanged = case.size()
    with janitor(tools):
        result = run("vacuum", "web", "--older-than", "1h", "--json")

    assert result.exit_code == 0, result.output
    # The janitor of this process logs there as well.
    report = json.loads(result.stdout[result.stdout.index("{\n") :])
    deleted = [int(report[f"{kind}_bytes"]) for kind in ("segment", "table", "orphan")]
    inputs = sum(3 * (50 + day) for day in range(MERGES))
    assert unchanged == before
    assert f"{inputs + 14} bytes would be deleted" in planned.stdout
    assert (int(report["segments"]), deleted[0]) == (3 * MERGES, inputs)
    assert before - case.size() == sum(deleted) == inputs + extra
    assert case.writer.find_ids("web") == live
    with pytest.raises(VersionExpired):
        case.writer.find("web", as_of_version=old)


def test_versions_expire_at_once_and_the_current_one_stays(
    run: RunCommand, case: VacuumCase, tools: Tools
) -> None:
    case.save(1)
    first = case.version()
    case.writer.save(segment_of(case.dataset, EPOCH + 5 * DAY))
    case.age()
    current = case.version()
    with janitor(tools):
        assert run("vacuum", "web", "--older-than", "1h").exit_code == 0

    with pytest.raises(VersionExpired):
        case.writer.find("web", as_of_version=first)
    assert len(case.writer.find("web", as_of_version=current).segments) == 4


def test_what_is_younger_stays(run: RunCommand, case: VacuumCase, tools: Tools) -> None:
    case.save(1)
    before = case.version()
    case.merge()
    size = case.size()
    with janitor(tools):
        result = run("vacuum", "web", "--older-than", "1h")

    assert result.exit_code == 0, result.output
    assert case.size() == size
    assert len(case.writer.find("web", as_of_version=before).segments) == 3


def test_pinned_and_hidden_segments_stay_and_are_named(
    run: RunCommand, case: VacuumCase, tools: Tools
) -> None:
    case.save(2)
    pin = PinDriver(case.client).take("web")
    case.merge()
    hidden = case.writer.find("web").segments[0]
    acceptance = operations_pb2.LossAcceptance(accept_loss=True, actor="a person", reason="a test")
    case.client.operations.HideSegment(
        operations_pb2.HideSegmentRequest(segment_id=hidden.id, acceptance=acceptance)
    )
    case.age()
    before = case.size()
    with janitor(tools):
        result = run("vacuum", "--older-than", "1h")

    assert result.exit_code == 0, result.output
    assert case.size() == before
    assert "left of web: 6 segments" in result.stdout
    assert "pins hold them" in result.stdout
    assert "left of web: 1 segments" in result.stdout
    assert len(case.writer.find("web", as_of_version=pin.version).segments) == 6


def test_without_a_janitor_nothing_is_changed(run: RunCommand, case: VacuumCase) -> None:
    case.save(1)
    old = case.version()
    case.merge()
    case.age()
    with case.server.running.database.write() as tx:
        tx.exec_driver_sql("UPDATE workers SET last_seen_at = now() - interval '1 hour'")

    result = run("vacuum", "web", "--older-than", "1h")

    assert result.exit_code == 1
    assert "no janitor runs" in result.stderr
    assert len(case.writer.find("web", as_of_version=old).segments) == 3


def test_a_hold_of_deletion_ends_the_command_and_not_the_vacuum(
    run: RunCommand, case: VacuumCase, tools: Tools
) -> None:
    case.save(1)
    case.merge()
    case.age()
    before = case.size()
    hold = operations_pb2.HoldDeletionRequest()

    def take_and_hold() -> None:
        resources, request = case.client.resources, resources_pb2.TakeVacuumsRequest()
        wait_until(lambda: bool(resources.TakeVacuums(request).vacuums), "it is taken")
        case.client.operations.HoldDeletion(hold)

    janitor_that_holds = Thread(target=take_and_hold)
    janitor_that_holds.start()
    held = run("vacuum", "web", "--older-than", "1h")
    janitor_that_holds.join()
    size = case.size()
    refused = run("vacuum", "web", "--older-than", "1h")
    case.client.operations.ReleaseDeletionHold(operations_pb2.ReleaseDeletionHoldRequest())
    carry_out_vacuums(tools)

    assert (held.exit_code, refused.exit_code) == (1, 1)
    assert "deletion is held; the vacuum continues after that" in held.stderr
    assert size == before
    assert case.size() == before - 3 * 50


def test_optimize_merges_what_can_be_merged_and_then_vacuums(
    run: RunCommand, case: VacuumCase, tools: Tools
) -> None:
    case.save(2)
    case.merge()
    case.age()
    case.save(2)
    before = case.size()
    with janitor(tools, case.work):
        result = run("datasets", "optimize", "web", "--older-than", "1h")

    assert result.exit_code == 0, result.output
    assert "merges         2" in result.stdout
    assert "of 2 merges" in result.stderr
    # The inputs of the first merges are old enough.
    assert "segments       6, 303 bytes" in result.stdout
    assert len(case.writer.find("web").segments) == 4
    assert case.size() > before - 303


def test_an_age_below_an_hour_is_refused(run: RunCommand, case: VacuumCase) -> None:
    assert run("vacuum", "web", "--older-than", "59m", "--dry-run").exit_code == 1
    assert run("vacuum", "web", "--older-than", "1h", "--dry-run").exit_code == 0


def test_a_vacuum_whose_janitor_died_is_carried_out_by_the_next(
    case: VacuumCase, tools: Tools
) -> None:
    case.save(1)
    case.merge()
    case.age()
    before = case.size()
    resources = case.client.resources
    request = resources_pb2.VacuumDatasetsRequest(
        vacuum_id="0197c9a2-7f3e-7000-8000-00000000000a", dataset_name="web", older_than_secs=3_600
    )
    first = resources.VacuumDatasets(request)
    again = resources.VacuumDatasets(request)
    # It deletes the objects and dies before it confirms them.
    resources.TakeVacuums(resources_pb2.TakeVacuumsRequest())
    tools.store.delete([info.key for info in case.store.list("dataset/")][:1])
    case.store.put_if_absent("dataset/foreign", b"")
    carry_out_vacuums(tools)
    carry_out_vacuums(tools)

    reply = resources.GetVacuum(resources_pb2.GetVacuumRequest(vacuum_id=request.vacuum_id))
    assert first.datasets == again.datasets
    assert reply.vacuum.finished_at_nanos
    assert reply.vacuum.segments == 3
    assert before > case.size()
    finish = resources_pb2.FinishVacuumRequest(vacuum_id=request.vacuum_id, orphans=5)
    assert not resources.FinishVacuum(finish).success
