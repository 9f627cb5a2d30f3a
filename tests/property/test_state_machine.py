"""All mutating calls in any order, over two instances, against a model in plain Python."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from meta.config import Settings
from meta.v1 import janitor_pb2, nursery_pb2, operations_pb2, resources_pb2, segment_lookup_pb2
from tests.property import instances
from tests.property.catalog_rules import PICK
from tests.property.guards import when
from tests.property.instances import Instances
from tests.property.model import ModelDataset, Move
from tests.property.new_segments import full_key
from tests.property.streams_seen import (
    StreamView,
    check_babies,
    check_poll,
    check_whereabouts,
    expected_view,
)
from tests.property.table_rules import TableRules

# Calls per run are bounded rather than time, so that a run is the same on any machine.
QUICK = settings(
    max_examples=30,
    stateful_step_count=35,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    # Shrinking takes minutes; the slow test does it.
    phases=(Phase.generate,),
)
DEEP = settings(
    QUICK,
    max_examples=120,
    stateful_step_count=80,
    derandomize=False,
    print_blob=True,
    phases=(Phase.generate, Phase.shrink),
)
COMPLETIONS = st.sampled_from(("good", "good", "stale", "wrong", "another"))


class ControlPlane(TableRules):
    """All rules, whole rounds of them, and what must hold after each step and in the end."""

    def __init__(self, meta: Instances) -> None:
        super().__init__(meta)
        self.seen_seq = 0
        self.mirror: dict[str, StreamView] = {}

    @initialize(is_empty=st.sampled_from((False, False, False, True)))
    def begin(self, is_empty: bool) -> None:
        """Mostly begin where something goes on already."""
        if is_empty:
            return
        for name in ("web", "db"):
            self.create_dataset(name, False)
        for pick in (0, 1):
            self.create_token(pick)
            self.register_collector("c1", pick, False)
            self.save(pick, 3, False, False)
        self.register_collector("c2", 0, False)
        for pick, stamps in ((0, "routed"), (1, "none"), (0, "none"), (1, "routed")):
            self.commit(pick, "next", stamps, 10, True, False)
        self.merge(0, 0, 1, 0, 1, False)

    @rule(pick=PICK, kinds=st.lists(COMPLETIONS, min_size=1, max_size=3), is_swept=st.booleans())
    @when(lambda self: self.model.segments)
    def work(self, pick: int, kinds: list[str], is_swept: bool) -> None:
        """A worker's round between two readers, which single steps seldom come to."""
        self.read(pick)
        self.begin_pages(pick)
        self.plan(pick, len(kinds) == 1)
        self.claim()
        for kind in kinds:
            if self.model.tasks:
                self.complete(len(self.model.tasks) - 1, kind, False)
        if is_swept:
            self.delete_tombstoned("all", True)
        self.read(pick)

    @rule(pick=PICK, is_stopped=st.booleans(), removes=st.booleans())
    @when(lambda self: self.model.streams)
    def drain(self, pick: int, is_stopped: bool, removes: bool) -> None:
        """A nursery's round over one stream; perhaps its last."""
        at = pick % len(self.model.streams)
        stream = list(self.model.streams.values())[at]
        if is_stopped:
            self.stop(at, 0, False)
        having = [s for s in self.model.streams.values() if s.entries]
        for number, dataset_id in enumerate(stream.entries):
            if left := stream.committed - stream.merged_of(dataset_id):
                self.merge(having.index(stream), number, left, 0, 1, False)
        self.reap(at, 0, False)
        for _ in range(len(stream.entries) if removes else 0):
            self.remove_entry(having.index(stream), pick, False, False)

    @rule(pick=PICK)
    @when(lambda self: self.model.tokens)
    def retire_token(self, pick: int) -> None:
        for call in (self.revoke_token, self.delete_token):
            call(pick, True)

    @invariant()
    def nurseries_see_every_stream_as_it_is(self) -> None:
        """I7, I8, I13: also one that asks each time only for what has changed."""
        request = nursery_pb2.GetIngestStreamsRequest(since_seq=self.seen_seq)
        reply = self.meta.call(lambda c: c.nursery.GetIngestStreamsForNursery(request))
        assert reply.response_seq >= self.seen_seq
        self.seen_seq = reply.response_seq
        for ref in reply.removed_entries:
            if ref.stream_id in self.mirror:
                self.mirror[ref.stream_id].entries.pop(ref.dataset_id, None)
        for stream_id in reply.removed_stream_ids:
            self.mirror.pop(stream_id, None)
        for info in reply.streams:
            self.mirror[info.stream_id] = StreamView.of(info)
        expected = expected_view(self.model)
        assert self.mirror.keys() == expected.keys()
        for stream_id, view in self.mirror.items():
            assert view.is_like(expected[stream_id]), (view, expected[stream_id])

    def teardown(self) -> None:
        """Work everything off, then check what is too dear to be checked after each step."""
        if sys.exc_info()[0] is not None:
            return
        self._finish()
        self._check_polls()
        check_whereabouts(self.model, self.meta)
        self.check_ledger()
        self.check_quarantined()
        for pin in self.model.pins:
            self.check_pin(pin)
        for dataset in self.model.live_datasets():
            self._check_stats(dataset)
            self._check_checkpoints(dataset)
        self.check_that_tables_go()

    def _finish(self) -> None:
        """Lead every run through what its random steps may not have come to."""
        for number in range(len(self.model.streams)):
            self.give_up_a_baby(number)
        for number in range(len(self.model.streams)):
            self.drain(number, number % 2 == 0, True)
        for number in range(len(self.model.live_datasets()) if self.model.segments else 0):
            self.work(number, ["good", "stale"], False)
            self.claim()
            self.nurseries_see_every_stream_as_it_is()
        self.fail_again_and_again(True)
        self.publish_the_latest()
        for number in range(min(4, len(self.model.segments))):
            self.hide(number, True)
            if number % 2:
                self.replace(number, True)
        for number in range(len(self.model.tokens)):
            self.replay(number, number, number % 3, number % 2 == 0, "complete", True)
            self.retire_token(number)
        for number in range(len(self.model.datasets)):
            self.delete_dataset(number)
        if self.model.live_datasets() != list(self.model.datasets.values()):
            self.undelete_dataset(0)
        if self.model.segments:
            self.delete_tombstoned("half", True)

    def _check_polls(self) -> None:
        """I13: equal response_seq on both instances means equal state."""
        request = nursery_pb2.GetIngestStreamsRequest()
        first, second = (
            self.meta.call(lambda c: c.nursery.GetIngestStreamsForNursery(request))
            for _ in range(2)
        )
        assert first.response_seq == second.response_seq
        for reply in (first, second):
            reply.ClearField("database_time_nanos")
        assert first == second
        check_poll(self.model, first)
        check_babies(self.model, first)

    def _check_stats(self, dataset: ModelDataset) -> None:
        """I20: the maintained figures equal a recount."""
        request = janitor_pb2.GetJanitorStatsRequest(dataset_name=dataset.name)
        stats = self.meta.call(lambda c: c.janitor.GetJanitorStats(request))
        own = [s for s in self.model.segments.values() if s.dataset_id == dataset.id]
        live = [s for s in own if s.is_live]
        assert stats.segment_count == len(live)
        assert stats.total_compressed_size_bytes == 100 * len(live)
        assert stats.total_size_bytes == 500 * len(live)
        assert stats.segments_incl_tombstoned == sum(not s.is_confirmed for s in own)
        assert stats.outstanding_merge_tasks == len(self.list_tasks(dataset.name))
        live_numbers = resources_pb2.GetDatasetNumbersRequest(name=dataset.name)
        numbers = self.meta.call(lambda c: c.resources.GetDatasetNumbers(live_numbers))
        assert numbers.record_count == sum(s.events for s in live)

    def _check_checkpoints(self, dataset: ModelDataset) -> None:
        """I14: at a registration's version exactly the offsets up to its end are visible."""
        moves = [m for m in self.model.moves if m.dataset_id == dataset.id]
        for move in moves[-3:]:
            if move.version < dataset.horizon:
                continue
            at = operations_pb2.GetOffsetsAtRequest(dataset_id=dataset.id, version=move.version)
            reply = self.meta.call(lambda c, at=at: c.operations.GetOffsetsAt(at))  # type: ignore[misc]
            ends = {one.stream_id: one.stream_offset for one in reply.offsets}
            self._check_end(move, ends.get(move.stream_id))
            find = segment_lookup_pb2.FindSegmentsRequest(
                dataset_names=[dataset.name], as_of_version=move.version
            )
            found = self.meta.call(lambda c, f=find: c.segment_lookup.FindSegments(f))  # type: ignore[misc]
            visible = {
                held
                for info in found.segments
                for held in self.model.segments[full_key(info)].contents
                if held[0] in self.model.streams
            }
            assert visible == {
                (one.stream_id, offset)
                for one in moves
                if one.has_segment and one.version <= move.version
                for offset in range(one.start + 1, one.end + 1)
            } - self.model.hidden_at(dataset.id, move.version)

    def _check_end(self, move: Move, told: int | None) -> None:
        """An entry that has gone is not told, one that came back may begin beyond its old end."""
        stream = self.model.streams[move.stream_id]
        if told is None:
            assert move.dataset_id not in stream.entries
            return
        assert told >= move.end
        between = stream.babies[move.end + 1 : told + 1]
        assert not any(baby.is_for(move.dataset_id) for baby in between)


@pytest.fixture
def meta(meta_settings: Settings, tmp_path: Path) -> Iterator[Instances]:
    """Two instances over one database, with a bucket for its witness."""
    (tmp_path / "objects").mkdir()
    with instances.start(meta_settings) as running:
        yield running


def _machine(meta: Instances) -> type[RuleBasedStateMachine]:
    # Hypothesis wants something to call for each run.
    return cast(type[RuleBasedStateMachine], lambda: ControlPlane(meta))


@pytest.mark.slow
def test_two_instances_behave_like_the_model(meta: Instances) -> None:
    run_state_machine_as_test(_machine(meta), settings=QUICK)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("part", range(4))
def test_two_instances_behave_like_the_model_for_long(meta: Instances, part: int) -> None:
    run_state_machine_as_test(_machine(meta), settings=DEEP)
