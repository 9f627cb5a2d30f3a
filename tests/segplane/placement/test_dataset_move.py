"""Datasets in their own store: written, moved and read there."""

import json
from collections.abc import Sequence
from uuid import uuid4

import pytest

from meta.errors import InvalidArgument, NotFound, RewriteUnfinished
from meta.v1 import common_pb2, ingestion_pb2
from meta.v1 import operations_pb2 as pb
from nursery.execution.job import TaskOutcome
from nursery.planning.tasks import Task
from segments.location import Stores
from tests.support.command_line import RunCommand
from tests.support.nursery.drivers import run_here
from tests.support.placement.two_stores import COLD, Placement

DONE = pb.REWRITE_JOB_STATE_DONE


def test_a_dataset_moves_while_it_is_written_and_read(placement: Placement) -> None:
    for _ in range(3):
        placement.send()
    assert placement.buckets() == {"objects": 3}

    job = placement.move()
    assert (job.store, job.segments_total) == (COLD, 3)
    placement.send()
    assert placement.buckets() == {"objects": 3, COLD: 1}
    placement.check()

    assert placement.finish(job).state == DONE
    assert placement.buckets() == {COLD: 4}
    placement.check()
    placement.send()
    placement.delete_tombstoned()
    placement.check()
    objects = [info.key for info in placement.store.list("dataset/")]
    assert len(objects) == 5
    assert not any((placement.folder / "objects" / "dataset").rglob("*.parquet"))


def test_every_reader_sees_each_record_once_in_the_middle_of_a_move(
    placement: Placement, run: RunCommand
) -> None:
    for _ in range(2):
        placement.send()
    placement.move()
    placement.send()
    assert placement.buckets() == {"objects": 2, COLD: 1}

    kql = run("query", f"['{placement.name}'] | project body", "--format", "json")
    sql = run("sql", "-c", f'FROM "{placement.name}" SELECT body', "--json")

    assert sql.exit_code == 0, sql.output
    assert kql.exit_code == 0, kql.output
    for text in placement.sent:
        assert sql.stdout.count(f'"{text}"') == 1
        assert kql.stdout.count(f'"{text}"') == 1
    placement.put()
    assert placement.read(fresh=True) == sorted(placement.sent)


def test_a_nursery_that_wrote_before_the_move_is_registered_where_it_wrote(
    placement: Placement,
) -> None:
    placement.put()

    def moved_meanwhile(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
        outcomes = run_here(tasks, where)
        placement.move()
        return outcomes

    placement.nursery(moved_meanwhile).cycle()

    assert placement.buckets() == {"objects": 1}
    placement.check()
    (job,) = placement.client.operations.ListRewriteJobs(pb.ListRewriteJobsRequest()).rewrites
    assert placement.finish(job).state == DONE
    assert placement.buckets() == {COLD: 1}
    placement.check()


def test_a_merge_that_was_claimed_before_the_move_is_completed_where_it_wrote(
    placement: Placement,
) -> None:
    placement.send()
    job = placement.move()
    claimed = placement.claim(job)
    assert claimed.cloud_object_prefix.prefix.split("/")[3] == "store-cold"
    placement.client.operations.UpdateRewriteJob(
        pb.UpdateRewriteJobRequest(id=job.id, state=pb.REWRITE_JOB_STATE_CANCELLED)
    )
    back = placement.move("")

    placement.complete(claimed)

    assert placement.buckets() == {COLD: 1}
    placement.check()
    assert placement.finish(back).state == DONE
    assert placement.buckets() == {"objects": 1}
    placement.check()


def test_a_move_says_its_progress_and_refuses_what_makes_no_sense(
    placement: Placement, run: RunCommand
) -> None:
    placement.send()
    shown = run("datasets", "placement", placement.name)
    assert "cold" in shown.stdout
    assert shown.stdout.splitlines()[1].split()[-1] == "here"

    moved = run("datasets", "placement", placement.name, COLD, "--json")

    assert moved.exit_code == 0, moved.output
    job = json.loads(moved.stdout)
    assert (job["store"], job["segments_total"]) == (COLD, "1")
    assert "cold" in run("rewrites", "list").stdout
    settings = json.loads(run("datasets", "placement", placement.name, "--json").stdout)
    assert [store["name"] for store in settings if store["is_used"]] == [COLD]
    unknown = run("datasets", "placement", placement.name, "warm")
    assert unknown.exit_code == 1
    assert "'warm' is not configured" in unknown.stderr
    again = run("datasets", "placement", placement.name, "default")
    assert again.exit_code == 1
    assert "not finished" in again.stderr


def test_a_repeated_move_is_one_move(placement: Placement) -> None:
    placement.send()
    request = pb.CreateRewriteJobRequest(
        id=str(uuid4()), dataset_id=placement.dataset_id, store=COLD
    )
    first = placement.client.operations.CreateRewriteJob(request).rewrite

    assert placement.client.operations.CreateRewriteJob(request).rewrite.id == first.id

    with pytest.raises(RewriteUnfinished):
        placement.move("")
    settings = pb.GetDatasetSettingsRequest(dataset_id=placement.dataset_id)
    assert placement.client.operations.GetDatasetSettings(settings).settings.store == COLD
    with pytest.raises(InvalidArgument):
        placement.client.operations.CreateRewriteJob(
            pb.CreateRewriteJobRequest(
                id=str(uuid4()), dataset_id=placement.dataset_id, store=COLD, format_version=2
            )
        )
    with pytest.raises(NotFound):
        placement.move("warm")


def test_a_segment_is_registered_only_in_the_store_that_its_key_names(
    placement: Placement,
) -> None:
    placement.move()
    placement.send()
    (segment,) = placement.segments()
    at = segment.cloud_object_key
    message = common_pb2.CreateSegment(
        dataset_id=placement.dataset_id,
        time_range=segment.time_range,
        cloud_object_key=common_pb2.CloudObjectKey(prefix=at.prefix, key=f"{uuid4()}.parquet"),
    )
    save = placement.client.ingestion.SaveSegments

    elsewhere = common_pb2.CreateSegment()
    elsewhere.CopyFrom(message)
    elsewhere.cloud_object_key.prefix.bucket.path = "tmp/elsewhere"
    with pytest.raises(InvalidArgument, match="configured store"):
        save(ingestion_pb2.SaveSegmentsRequest(segments=[elsewhere]))
    unknown = common_pb2.CreateSegment()
    unknown.CopyFrom(message)
    unknown.cloud_object_key.prefix.prefix = at.prefix.prefix.replace("cold", "warm")
    with pytest.raises(InvalidArgument, match="'warm' is not configured"):
        save(ingestion_pb2.SaveSegmentsRequest(segments=[unknown]))
    assert save(ingestion_pb2.SaveSegmentsRequest(segments=[message])).ids
