"""The choice of babies: bounds, order, and that nothing is read twice or passed over."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nursery.planner import Limits, MergedSpan, Plan, plan
from nursery.streams import BabyFacts, IngestStream
from segments.offsets import OffsetSpan
from segments.parquet.schema import SegmentSpec

NOW = 1_700_000_000 * 10**9
WIDE = Limits(bytes_max=10**9, babies_max=10_000, tasks_max=2)
LOGS, SPANS, GONE = (str(UUID(int=i)) for i in (1, 2, 3))


def baby(offset: int, *datasets: str, size: int = 1000, age_secs: float = 60.0) -> BabyFacts:
    return BabyFacts(offset, size, NOW - int(age_secs * 1e9) + offset, frozenset(datasets))


def stream(
    *babies: BabyFacts, merged: dict[str, int] | None = None, name: str = "s"
) -> IngestStream:
    last = max((b.offset for b in babies), default=-1)
    return IngestStream(name, last, {LOGS: -1} if merged is None else merged, babies)


def reads(found: Plan) -> set[tuple[str, int]]:
    return {(r.stream_id, r.offset) for b in found.batches for t in b.tasks for r in t.reads}


def test_a_stream_is_merged_up_to_its_committed_offset() -> None:
    found = plan([stream(baby(0, LOGS), baby(1, LOGS))], {}, WIDE, NOW)

    (batch,) = found.batches
    assert batch.moves[0].spans[0].offsets.start == 0
    assert batch.moves[0].spans[0].offsets.end == 1
    assert reads(found) == {("s", 0), ("s", 1)}
    assert not found.is_cut


def test_a_young_stream_waits() -> None:
    limits = replace(WIDE, wait_secs=5.0, bytes_min=10_000)
    young = stream(baby(0, LOGS, age_secs=1.0))

    assert plan([young], {}, limits, NOW) == Plan()
    assert plan([replace(young, is_stopped=True)], {}, limits, NOW).batches
    large = stream(baby(0, LOGS, age_secs=1.0, size=10_000))
    assert plan([large], {}, limits, NOW).batches


def test_the_oldest_babies_of_all_streams_go_first() -> None:
    old = stream(baby(0, LOGS, age_secs=90.0), baby(1, LOGS, age_secs=10.0), name="old")
    other = stream(baby(0, LOGS, age_secs=80.0), baby(1, LOGS, age_secs=70.0), name="other")

    found = plan([other, old], {}, replace(WIDE, babies_max=3), NOW)

    assert reads(found) == {("old", 0), ("other", 0), ("other", 1)}
    assert {(s.offsets.stream_id, s.offsets.end) for s in found.batches[0].moves[0].spans} == {
        ("old", 0),
        ("other", 1),
    }
    assert found.is_cut


def test_one_baby_above_the_limit_is_merged_alone() -> None:
    found = plan(
        [stream(baby(0, LOGS, size=500), baby(1, LOGS))], {}, replace(WIDE, bytes_max=10), NOW
    )

    assert reads(found) == {("s", 0)}


def test_a_dataset_that_got_nothing_moves_without_a_job() -> None:
    both = stream(baby(0, LOGS), baby(1, LOGS), merged={LOGS: -1, SPANS: -1})

    found = plan([both], {}, WIDE, NOW)

    (advance,) = found.advances
    assert advance.dataset_id == SPANS
    assert advance.spans == (MergedSpan(OffsetSpan("s", 0, 1), both.babies[1].committed_at),)
    assert [m.dataset_id for m in found.batches[0].moves] == [LOGS]


def test_a_dataset_that_got_nothing_waits_for_its_turn() -> None:
    both = stream(baby(0, LOGS), baby(1, LOGS), merged={LOGS: -1, SPANS: -1})

    assert plan([both], {}, replace(WIDE, idle_advance_secs=600.0), NOW).advances == ()


def test_nothing_passes_a_baby_that_cannot_be_read() -> None:
    both = stream(baby(0, LOGS), baby(1, LOGS), baby(2, LOGS), merged={LOGS: -1, SPANS: -1})

    found = plan([both], {}, WIDE, NOW, blocked={"s": 1})

    assert {m.spans[0].offsets.end for m in (*found.batches[0].moves, *found.advances)} == {0}


def test_a_baby_of_a_deleted_dataset_is_read_by_an_owner() -> None:
    found = plan([stream(baby(0, GONE))], {}, WIDE, NOW)

    (batch,) = found.batches
    assert batch.moves == ()
    assert [(r.offset, r.is_owner) for t in batch.tasks for r in t.reads] == [(0, True)]
    assert [m.dataset_id for m in found.advances] == [LOGS]


def test_an_unstamped_baby_is_read_for_every_dataset() -> None:
    both = stream(baby(0), merged={LOGS: -1, SPANS: -1})

    (batch,) = plan([both], {}, WIDE, NOW).batches

    assert [m.dataset_id for m in batch.moves] == [LOGS, SPANS]


def test_offsets_that_meta_did_not_describe_are_merged_too() -> None:
    blind = replace(stream(), committed_offset=3)

    assert reads(plan([blind], {}, WIDE, NOW)) == {("s", o) for o in range(4)}


def test_a_large_dataset_is_split_over_tasks() -> None:
    size = 4 * 1024 * 1024
    found = plan([stream(*(baby(o, LOGS, size=size) for o in range(8)))], {}, WIDE, NOW)

    first, second = found.batches[0].tasks
    assert first.works[0].ranges == (OffsetSpan("s", 0, 3),)
    assert second.works[0].ranges == (OffsetSpan("s", 4, 7),)
    assert {r.offset for r in second.reads} == {4, 5, 6, 7}


def test_many_cores_get_several_batches_of_their_own_streams() -> None:
    size = 8 * 1024 * 1024
    streams = [stream(baby(0, LOGS, size=size), name=f"s{i}") for i in range(4)]

    found = plan(streams, {}, replace(WIDE, tasks_max=16), NOW)

    assert len(found.batches) == 2
    groups = [{s.offsets.stream_id for m in b.moves for s in m.spans} for b in found.batches]
    assert not groups[0] & groups[1]
    assert groups[0] | groups[1] == {"s0", "s1", "s2", "s3"}


DATASETS = [LOGS, SPANS, GONE]


@st.composite
def streams(draw: st.DrawFn) -> list[IngestStream]:
    found = []
    for name in draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=4)):
        count = draw(st.integers(0, 8))
        babies = tuple(
            baby(
                o,
                *draw(st.sets(st.sampled_from(DATASETS))),
                size=draw(st.sampled_from([10, 1_000_000, 9_000_000])),
                age_secs=draw(st.sampled_from([0.0, 50.0, 99.0])),
            )
            for o in range(count)
        )
        merged = {
            d: draw(st.integers(-1, count - 1)) for d in draw(st.sets(st.sampled_from(DATASETS)))
        }
        first = min(merged.values(), default=count) + 1
        found.append(IngestStream(name, count - 1, merged, babies[first:], draw(st.booleans())))
    return found


LIMITS = st.builds(
    Limits,
    bytes_max=st.sampled_from([1, 2_000_000, 10**9]),
    babies_max=st.integers(1, 20),
    tasks_max=st.sampled_from([1, 2, 8, 24]),
    wait_secs=st.sampled_from([0.0, 60.0]),
    bytes_min=st.sampled_from([1, 10**9]),
)


@given(streams(), LIMITS)
def test_every_record_is_read_once_and_nothing_unread_is_passed(
    found: list[IngestStream], limits: Limits
) -> None:
    by_name = {s.stream_id: s for s in found}

    result = plan(found, {d: SegmentSpec() for d in DATASETS}, limits, NOW)

    given_out: set[tuple[str, str, int]] = set()
    owned: list[tuple[str, int]] = []
    for batch in result.batches:
        assert len(batch.tasks) <= 8
        for task in batch.tasks:
            readable = {(r.stream_id, r.offset) for r in task.reads}
            owned.extend((r.stream_id, r.offset) for r in task.reads if r.is_owner)
            for work in task.works:
                for span in work.ranges:
                    for offset in range(span.start, span.end + 1):
                        key = (work.dataset_id, span.stream_id, offset)
                        assert key not in given_out
                        assert (span.stream_id, offset) in readable
                        given_out.add(key)
    assert len(owned) == len(set(owned))
    _assert_moves_pass_nothing_unread(result, by_name, given_out, owned)


def _assert_moves_pass_nothing_unread(
    result: Plan,
    by_name: dict[str, IngestStream],
    given_out: set[tuple[str, str, int]],
    owned: list[tuple[str, int]],
) -> None:
    moves = [*(m for b in result.batches for m in b.moves), *result.advances]
    moved = [(m.dataset_id, s.offsets.stream_id) for m in moves for s in m.spans]
    assert len(moved) == len(set(moved))
    for move in moves:
        for step in (span.offsets for span in move.spans):
            own = by_name[step.stream_id]
            assert step.start == own.merged[move.dataset_id] + 1 <= step.end
            assert step.end <= own.committed_offset
            for one in own.babies:
                if not step.start <= one.offset <= step.end:
                    continue
                holds = not one.dataset_ids or move.dataset_id in one.dataset_ids
                assert not holds or (move.dataset_id, own.stream_id, one.offset) in given_out
                if one.dataset_ids - own.merged.keys():
                    assert (own.stream_id, one.offset) in owned


@pytest.mark.parametrize("limits", [WIDE, replace(WIDE, babies_max=1)], ids=["wide", "one"])
def test_repeated_cycles_drain_everything(limits: Limits) -> None:
    current = stream(*(baby(o, DATASETS[o % 2]) for o in range(7)), merged={LOGS: -1, SPANS: -1})
    for _ in range(20):
        found = plan([current], {}, limits, NOW)
        if not found.batches and not found.advances:
            break
        merged = dict(current.merged)
        for move in (*(m for b in found.batches for m in b.moves), *found.advances):
            merged[move.dataset_id] = move.spans[0].offsets.end
        first = min(merged.values()) + 1
        current = replace(
            current, merged=merged, babies=tuple(b for b in current.babies if b.offset >= first)
        )

    assert set(current.merged.values()) == {6}
