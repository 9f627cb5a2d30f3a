"""Settings of a nursery in meta decide over its environment, without a restart."""

from dataplane.clocks import Clock
from dataplane.location import ASK_EVERY_SECS
from meta.client import MetaClient
from meta.v1 import operations_pb2 as pb
from meta.v1.common_pb2 import WorkerSettings
from nursery.config import Settings
from tests.support.clock import SettableClock
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery


def set_for_nurseries(client: MetaClient, settings: WorkerSettings, *removed: str) -> None:
    client.operations.SetWorkerSettings(
        pb.SetWorkerSettingsRequest(name="nursery/*", settings=settings, removed=removed)
    )


def test_a_cycle_merges_as_many_babies_as_operators_have_set(meta_client: MetaClient) -> None:
    collector = CollectorDriver(meta_client, dataset(meta_client))
    for number in range(3):
        collector.send(f"record {number}")
    set_for_nurseries(meta_client, WorkerSettings(batch_babies_max=1, decode_bytes_max=5))
    merging = nursery(meta_client)

    assert merging.cycle()

    assert set(collector.merged().values()) == {0}
    assert (merging.settings.decode_bytes_max, merging.settings.task_bytes_max) == (
        5,
        Settings().task_bytes_max,
    )
    while merging.cycle():
        pass
    assert set(collector.merged().values()) == {2}


def test_a_change_is_taken_up_by_a_running_nursery(meta_client: MetaClient) -> None:
    now = SettableClock()
    merging = nursery(meta_client, clock=Clock(monotonic=now))
    merging.cycle()

    set_for_nurseries(meta_client, WorkerSettings(task_bytes_max=9))
    merging.cycle()
    before = merging.settings.task_bytes_max
    now.now += ASK_EVERY_SECS
    merging.cycle()

    assert (before, merging.settings.task_bytes_max) == (Settings().task_bytes_max, 9)
