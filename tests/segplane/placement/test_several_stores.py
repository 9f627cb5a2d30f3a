"""Several stores: checked, scrubbed, swept, deleted and rebuilt from as one."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from janitor import jobs
from meta.client import MetaClient
from meta.server import server
from meta.v1 import operations_pb2 as pb
from nursery.execution.job import TaskOutcome
from nursery.planning.tasks import Task
from segments.errors import StoreError
from segments.location import Stores
from tests.support.command_line import RunCommand
from tests.support.nursery.drivers import run_here
from tests.support.placement.two_stores import COLD, Placement
from tests.support.visible_segments import key_of, texts

DONE = pb.REWRITE_JOB_STATE_DONE


def test_fsck_and_the_data_check_read_every_store(placement: Placement, run: RunCommand) -> None:
    placement.send()
    placement.move()
    placement.send()
    assert run("fsck", "--deep").exit_code == 0
    assert run("fsck", "--data").exit_code == 0
    (cold,) = (placement.folder / COLD).rglob("*.parquet")
    body = cold.read_bytes()

    cold.unlink()

    missing = run("fsck")
    assert missing.exit_code == 1
    assert cold.name in missing.stdout
    cold.write_bytes(bytes([body[0] ^ 1]) + body[1:])
    damaged = run("fsck", "--data")
    assert damaged.exit_code == 1
    assert cold.name in damaged.stdout


def test_the_scrub_reads_every_store(placement: Placement) -> None:
    placement.send()
    placement.move()
    placement.send()
    (cold,) = (placement.folder / COLD).rglob("*.parquet")
    body = cold.read_bytes()
    cold.write_bytes(bytes([body[0] ^ 1]) + body[1:])

    jobs.scrub(placement.tools)

    damaged = placement.client.operations.ListDamagedObjects(pb.ListDamagedObjectsRequest())
    assert [one.object_key.rpartition("/")[2] for one in damaged.objects] == [cold.name]


def test_orphans_are_collected_in_every_store(placement: Placement) -> None:
    placement.move()
    placement.put()

    def written_and_lost(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
        run_here(tasks, where)
        return run_here(tasks, where)

    placement.nursery(written_and_lost).cycle()
    assert len(list(placement.store.list("dataset/"))) == 2

    jobs.collect_orphans(placement.tools)

    assert [info.key for info in placement.store.list("dataset/")] == [
        key_of(segment) for segment in placement.segments()
    ]
    placement.check()


def test_a_store_that_fails_holds_up_no_deletion_in_another(placement: Placement) -> None:
    placement.send()
    job = placement.move()
    placement.send()
    assert placement.finish(job).state == DONE
    back = placement.move("")
    assert placement.finish(back).state == DONE
    cold = placement.folder / COLD
    cold.rename(placement.folder / "away")

    with pytest.raises(StoreError):
        placement.delete_tombstoned()

    assert len(list((placement.folder / "objects" / "dataset").rglob("*.parquet"))) == 2
    (placement.folder / "away").rename(cold)
    placement.delete_tombstoned()
    assert not list(cold.rglob("*.parquet"))
    placement.check()


def test_a_catalog_is_rebuilt_from_several_buckets(
    placement: Placement, empty_database_url: str, run: RunCommand
) -> None:
    placement.send()
    placement.move()
    placement.send()
    settings = placement.server.settings

    rebuilt = run(
        *("catalog", "rebuild", "--from-bucket", "--apply", "--json"),
        *("--database-url", empty_database_url, "--object-store-url", settings.location.url()),
        *("--object-stores", f"{COLD}={settings.named_stores[0].location.url()}"),
    )

    assert rebuilt.exit_code == 0, rebuilt.output
    database = replace(settings.database, url=empty_database_url)
    started = server.start(replace(settings, bind="127.0.0.1:0", database=database))
    try:
        with MetaClient(f"127.0.0.1:{started.port}") as client:
            assert texts(client, placement.store) == sorted(placement.sent)
    finally:
        started.stop(2.0)
