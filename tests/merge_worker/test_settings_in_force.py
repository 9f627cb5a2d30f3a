"""Settings of a merge worker in meta decide over its environment."""

from pathlib import Path

from dataplane.location import Locator
from merge_worker.config import Settings
from merge_worker.loop import InForce, settings_in_force
from meta.client import MetaClient
from meta.v1 import janitor_pb2
from meta.v1 import operations_pb2 as pb
from meta.v1.common_pb2 import WorkerDatasets, WorkerSettings
from tests.support.merge_worker.case import Case, Signalling


def set_for(client: MetaClient, name: str, settings: WorkerSettings) -> None:
    client.operations.SetWorkerSettings(pb.SetWorkerSettingsRequest(name=name, settings=settings))


def test_a_value_in_meta_wins_and_others_are_those_of_the_environment(
    meta_client: MetaClient,
) -> None:
    set_for(meta_client, "merge_worker/*", WorkerSettings(concurrent_tasks=1))
    settings = Settings(concurrent_tasks=4, buffer_bytes_max=2**21)

    in_force = settings_in_force(settings, Locator(meta_client, "merge_worker/a"))
    others = settings_in_force(settings, Locator(meta_client, "a"))

    assert (in_force.allows(0), in_force.allows(1)) == (True, False)
    assert in_force.buffer_bytes_max == 2**21
    assert (others.allows(3), others.allows(4)) == (True, False)
    assert settings_in_force(Settings(), Locator(meta_client, "a")).allows(100)


def test_while_meta_does_not_answer_the_environment_goes_on() -> None:
    with MetaClient("127.0.0.1:1", deadline_secs=0.1) as client:
        in_force = settings_in_force(Settings(), Locator(client, "merge_worker/a"))

    assert in_force == InForce(0, Settings().buffer_bytes_max, ())


def test_a_worker_of_one_dataset_leaves_the_tasks_of_others(
    meta_client: MetaClient, tmp_path: Path
) -> None:
    other = Case(meta_client, tmp_path)
    own = Case(meta_client, tmp_path)
    for case in (other, own):
        for seed in range(16):
            case.save(seed)
        assert case.plan() == 1
    datasets = WorkerDatasets(ids=[own.dataset_id])
    set_for(meta_client, "merge_worker/test", WorkerSettings(datasets=datasets))
    merger = Signalling()

    own.work_until(merger, merger.is_reported)

    assert (len(own.find()), len(other.find())) == (1, 16)
    tasks = meta_client.janitor.ListMergeTasks(janitor_pb2.ListMergeTasksRequest()).tasks
    assert [task.assigned_to_worker for task in tasks] == [""]
