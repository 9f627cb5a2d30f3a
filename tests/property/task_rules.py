"""Rules of the state machine about merge tasks: planning, claims, completions, failures."""

from uuid import uuid4

from hypothesis import strategies as st
from hypothesis.stateful import rule

from meta.v1 import (
    common_pb2,
    janitor_pb2,
    merge_task_pb2,
    operations_pb2,
    segment_lookup_pb2,
)
from tests.property.catalog_rules import PICK, TWICE, chosen
from tests.property.guards import when
from tests.property.model import ModelTask
from tests.property.new_segments import full_key, new_segment
from tests.property.segment_rules import SegmentRules

POISON_FAILURES_MAX = 5


class TaskRules(SegmentRules):
    """The janitor plans, workers merge, fail and die."""

    @rule(pick=PICK, is_rewrite=st.booleans())
    @when(lambda self: any(s.is_live for s in self.model.segments.values()))
    def plan(self, pick: int, is_rewrite: bool) -> None:
        names: list[str | None] = [d.name for d in self.model.live_datasets()]
        name = chosen([*names, None], pick)
        if is_rewrite:
            rewrite = janitor_pb2.RewriteAllSegmentsRequest(dataset_name=name)
            self.meta.call(lambda c: c.janitor.RewriteAllSegments(rewrite))
        else:
            request = janitor_pb2.CreateMergeTasksRequest(dataset_name=name)
            self.meta.call(lambda c: c.janitor.CreateMergeTasks(request))

    @rule()
    @when(lambda self: self.model.segments)
    def claim(self) -> None:
        """I11: a segment is in one open task, a task has one claim, attempts count up by one."""
        request = merge_task_pb2.PollForSegmentMergeTaskRequest(worker_id="worker")
        reply = self.meta.call(lambda c: c.merge_task.PollForSegmentMergeTask(request))
        self.note_split_tasks()
        info = reply.task
        if not reply.HasField("task"):
            assert not any(not t.assigned_to_worker for t in self.list_tasks())
            return
        inputs = tuple(self.model.segments[full_key(one)] for one in info.segments)
        known = self.model.tasks.get(info.task_id)
        if known is None:
            assert not {s.key for s in inputs} & set(self.model.open_inputs())
            known = ModelTask(info.task_id, info.dataset_id, inputs, 0)
            self.model.tasks[known.id] = known
        assert known.is_open
        assert {s.key for s in known.inputs} == {s.key for s in inputs}
        assert all(s.is_live and s.dataset_id == known.dataset_id for s in inputs)
        assert info.attempt == known.attempt + 1
        # A claim that was still held had its lease pass, which counts as a failure.
        known.failures += known.is_claimed
        known.attempt, known.is_claimed = info.attempt, True

    @rule(
        pick=PICK,
        kind=st.sampled_from(("good", "good", "good", "stale", "wrong", "another")),
        is_abandoned=st.booleans(),
    )
    @when(lambda self: self.model.tasks)
    def complete(self, pick: int, kind: str, is_abandoned: bool) -> None:
        task = chosen(list(self.model.tasks.values()), pick)
        output = self._output(task, kind)
        request = merge_task_pb2.CompleteSegmentMergeTaskRequest(
            task_id=task.id, merged_segment=output
        )
        expected = self._verdict(task, kind)
        if is_abandoned:
            self.meta.abandon(lambda c: c.merge_task.CompleteSegmentMergeTask.future(request))

        reply = self.send(
            lambda c: c.merge_task.CompleteSegmentMergeTask(request),
            None,
            twice=True,
            essence=lambda r: (r.WhichOneof("result"), r.error.reason),
        )

        assert reply is not None
        assert (reply.error.reason or "DONE") == expected
        if expected == "DONE" and task.is_open:
            self._swapped(task, output)

    def _output(self, task: ModelTask, kind: str) -> common_pb2.CreateSegment:
        """Output of the task's current attempt, or of another one."""
        attempt = task.attempt - (kind == "stale")
        events = sum(s.events for s in task.inputs) + (kind == "wrong")
        name = f"{task.id}.parquet" if kind != "another" else f"{uuid4()}.parquet"
        segment = new_segment(task.dataset_id, name, events)
        segment.cloud_object_key.prefix.prefix += f"/{task.id}-{attempt}"
        return segment

    def _verdict(self, task: ModelTask, kind: str) -> str:
        if task.output is not None:
            key = full_key(self._output(task, kind))
            return "DONE" if key == task.output.key else "TASK_NOT_OPEN"
        if not task.is_open:
            return "TASK_NOT_OPEN"
        if not task.is_claimed or kind == "stale":
            return "TASK_FENCED"
        return "OUTPUT_MISMATCH" if kind == "wrong" else "DONE"

    def _swapped(self, task: ModelTask, output: common_pb2.CreateSegment) -> None:
        """I6: the output is there from the version on at which its inputs are not."""
        name = self.model.datasets[task.dataset_id].name
        find = segment_lookup_pb2.FindSegmentsRequest(dataset_names=[name])
        found = self.meta.call(lambda c: c.segment_lookup.FindSegments(find))
        info = next(i for i in found.segments if full_key(i) == full_key(output))
        get = segment_lookup_pb2.GetSegmentsByIdsRequest(segment_ids=[s.id for s in task.inputs])
        buried = self.meta.call(lambda c: c.segment_lookup.GetSegmentsByIds(get)).segments
        assert {one.tombstone_version for one in buried} == {info.created_version}
        assert len(buried) == len(task.inputs)
        contents = frozenset[tuple[str, int]]().union(*(s.contents for s in task.inputs))
        task.output = self.note(info.id, output, contents, info.created_version)
        task.is_open = False
        for segment in task.inputs:
            segment.tombstone_version = info.created_version

    @rule(pick=PICK, is_stale=st.booleans(), is_named=st.booleans(), twice=TWICE)
    @when(lambda self: self.model.tasks)
    def fail(self, pick: int, is_stale: bool, is_named: bool, twice: bool) -> None:
        """A stale attempt's failure is taken without effect; a named one blames its input."""
        task = chosen(list(self.model.tasks.values()), pick)
        request = merge_task_pb2.FailSegmentMergeTaskRequest(
            task_id=task.id,
            error_message="it broke",
            attempt=task.attempt + (1 if is_stale else 0),
            failed_segment_id=task.inputs[0].id if is_named else "",
        )

        self.send(lambda c: c.merge_task.FailSegmentMergeTask(request), None, twice=twice)

        if task.is_open and task.is_claimed and not is_stale:
            task.is_claimed = False
            task.failures += 1
        self.note_split_tasks()

    @rule(is_named=st.booleans())
    @when(lambda self: self.model.segments)
    def fail_again_and_again(self, is_named: bool) -> None:
        """Fail a task again and again: it is free at once; a named input splits it in the end."""
        for _ in range(POISON_FAILURES_MAX):
            self.claim()
            if self.model.tasks:
                self.fail(len(self.model.tasks) - 1, False, is_named, False)

    @rule(pick=PICK, is_stale=st.booleans())
    @when(lambda self: self.model.tasks)
    def beat(self, pick: int, is_stale: bool) -> None:
        task = chosen(list(self.model.tasks.values()), pick)
        request = operations_pb2.HeartbeatMergeTaskRequest(
            task_id=task.id, attempt=task.attempt + is_stale
        )

        reply = self.meta.call(lambda c: c.operations.HeartbeatMergeTask(request))

        assert reply.still_yours == (task.is_open and task.is_claimed and not is_stale)

    @rule()
    @when(lambda self: self.model.tasks)
    def let_leases_pass(self) -> None:
        """Workers die: every claim is as old as it may get."""
        self.meta.execute(
            "UPDATE merge_tasks SET claimed_at = now() - interval '2 h', beat_at = NULL,"
            " free_at = now() - interval '1 s' WHERE worker_id IS NOT NULL AND state = 1"
        )

    @rule(pick=PICK)
    @when(lambda self: self.model.tasks)
    def unclaim(self, pick: int) -> None:
        task = chosen(list(self.model.tasks.values()), pick)
        request = janitor_pb2.UnclaimMergeTaskRequest(task_id=task.id)

        reply = self.meta.call(lambda c: c.janitor.UnclaimMergeTask(request))

        if reply.unclaimed:
            assert task.is_open
            assert task.is_claimed
            task.is_claimed = False
            task.attempt += 1

    def list_tasks(self, name: str | None = None) -> list[janitor_pb2.MergeTaskSummary]:
        request = janitor_pb2.ListMergeTasksRequest(dataset_name=name)
        return list(self.meta.call(lambda c: c.janitor.ListMergeTasks(request)).tasks)

    def note_split_tasks(self) -> None:
        """A task that failed too often is open no more; its halves are their own tasks."""
        listed = {task.task_id for task in self.list_tasks()}
        for task in self.model.tasks.values():
            if task.is_open and task.id not in listed:
                assert task.failures + task.is_claimed >= POISON_FAILURES_MAX
                task.is_open = False
