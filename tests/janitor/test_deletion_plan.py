"""Plans of deletion against a real janitor: it deletes the objects that are due, and no other."""

from dataclasses import replace
from pathlib import Path

import pytest

from janitor import jobs
from janitor.jobs import Tools
from meta import config
from meta.planning.planner import Policy
from meta.store.deletion import retention
from meta.v1 import operations_pb2
from meta.v1 import status_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer
from tests.support.vacuum_case import VacuumCase

GRACE_SECS = 2_100.0
RETENTION_HOURS = 48


@pytest.fixture
def meta_settings(meta_settings: config.Settings) -> config.Settings:
    """Let tombstoned segments have a grace, and merge three segments of a day."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=GRACE_SECS)
    return replace(meta_settings, lifetimes=lifetimes, merge_policy=Policy(files_max=2))


@pytest.fixture
def case(tools: Tools, meta_server: MetaServer, tmp_path: Path) -> VacuumCase:
    dataset = CatalogDriver(tools.meta).dataset("web")
    return VacuumCase(tools.meta, meta_server, dataset, tools.store)


def planned(tools: Tools) -> list[tuple[int, str, int, int]]:
    """Each row: the hour, the cause, segments and bytes."""
    reply = tools.meta.status.PlanDeletion(pb.PlanDeletionRequest(dataset_name="web"))
    assert list(reply.waiting) == []
    cause = pb.DeletionCause.Name
    return [
        (row.hour, cause(row.cause)[15:], row.segments, row.size_bytes) for row in reply.planned
    ]


def deleted_bytes(tools: Tools, case: VacuumCase) -> int:
    """Run the janitor's job; count the bytes that left the bucket."""
    before = case.size()
    jobs.delete_tombstoned(tools)
    return before - case.size()


def test_inputs_of_merges_go_in_the_hour_of_the_plan(tools: Tools, case: VacuumCase) -> None:
    case.save(8)
    inputs = 3 * sum(range(50, 58))
    merges = case.merge()
    assert merges > 0

    assert planned(tools) == [(1, "REPLACED", 24, inputs)]
    assert deleted_bytes(tools, case) == 0
    case.age(hours=1)
    assert planned(tools) == [(0, "REPLACED", 24, inputs)]
    assert deleted_bytes(tools, case) == inputs
    assert planned(tools) == []


def test_metadata_of_tables_goes_as_the_plan_says(tools: Tools, case: VacuumCase) -> None:
    case.save(1)
    size = case.put_table()

    def amounts() -> tuple[int, ...]:
        reply = tools.meta.status.PlanDeletion(pb.PlanDeletionRequest(dataset_name="web"))
        due, kept = reply.table_objects_due, reply.table_objects_kept
        return due.objects, due.size_bytes, kept.objects, kept.size_bytes

    before, all_objects = case.size(), amounts()
    jobs.delete_table_metadata(tools)
    assert (all_objects, case.size()) == ((0, 0, 4, 28), before)
    case.age(hours=1)
    assert amounts() == (2, size, 2, 14)
    jobs.delete_table_metadata(tools)
    assert before - case.size() == size
    assert amounts() == (0, 0, 2, 14)


def test_what_retention_expires_goes_in_the_hour_of_the_plan(
    tools: Tools, meta_server: MetaServer, case: VacuumCase
) -> None:
    case.save(8)
    size = case.size()
    request = operations_pb2.SetDatasetSettingsRequest(dataset_id=case.dataset)
    request.settings.created_retention.seconds = RETENTION_HOURS * 3_600
    tools.meta.operations.SetDatasetSettings(request)

    def bury_expired() -> int:
        with meta_server.running.database.write() as tx:
            return retention.bury_expired(tx)

    assert planned(tools) == [(RETENTION_HOURS + 1, "CREATED_RETENTION", 24, size)]
    assert bury_expired() == 0
    case.age(hours=RETENTION_HOURS)
    assert planned(tools) == [(1, "CREATED_RETENTION", 24, size)]
    assert bury_expired() == 24
    assert planned(tools) == [(1, "EXPIRED", 24, size)]
    assert deleted_bytes(tools, case) == 0
    case.age(hours=1)
    assert planned(tools) == [(0, "EXPIRED", 24, size)]
    assert deleted_bytes(tools, case) == size
    assert planned(tools) == []
