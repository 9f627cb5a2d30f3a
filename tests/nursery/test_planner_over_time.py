"""Many cycles over random streams: nothing is passed unread, merged twice, or read a third time."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nursery.planning.pending import Limits
from nursery.planning.planner import Plan, plan
from nursery.planning.streams import BabyFacts, IngestStream

NOW = 1_700_000_000 * 10**9
SECOND = 10**9
DATASETS = [str(UUID(int=i)) for i in range(1, 6)]
GONE = str(UUID(int=9))
CYCLES_MAX = 80


@dataclass
class PlannedHistory:
    """Streams as meta would keep them, and what the plans have done to them."""

    streams: dict[str, IngestStream]
    limits: Limits
    now: int = NOW
    merged: set[tuple[str, str, int]] = field(default_factory=set)
    reads: Counter[tuple[str, int]] = field(default_factory=Counter)
    owned: set[tuple[str, int]] = field(default_factory=set)

    def cycle(self, failing: frozenset[int] = frozenset()) -> Plan:
        """Plan once and register what the tasks that do not fail have done."""
        found = plan(self._visible(), {}, self.limits, self.now)
        self._check_tasks(found, failing)
        for move in found.moves:
            if move.tasks & failing:
                continue
            for span in (merged.offsets for merged in move.spans):
                stream = self.streams[span.stream_id]
                assert span.start == stream.merged[move.dataset_id] + 1 <= span.end
                assert span.end <= stream.committed_offset
                self._check_nothing_is_passed(found, failing, move.dataset_id, stream, span.end)
                merged = {**stream.merged, move.dataset_id: span.end}
                self.streams[span.stream_id] = replace(stream, merged=merged)
        self._check_strays()
        return found

    def _visible(self) -> Sequence[IngestStream]:
        """Meta lists babies above the lowest merged offset, as far as they are committed now."""
        visible = []
        for stream in self.streams.values():
            floor = min(stream.merged.values())
            known = [b for b in stream.babies if b.committed_at <= self.now]
            last = known[-1].offset if known else -1
            babies = tuple(b for b in known if b.offset > floor)
            visible.append(replace(stream, committed_offset=last, babies=babies))
        return visible

    def _check_tasks(self, found: Plan, failing: frozenset[int]) -> None:
        owners = [(r.stream_id, r.offset) for t in found.tasks for r in t.reads if r.is_owner]
        assert len(owners) == len(set(owners))
        for index, task in enumerate(found.tasks):
            own = {(r.stream_id, r.offset) for r in task.reads}
            for work in task.works:
                for span in work.ranges:
                    offsets = range(span.start, span.end + 1)
                    assert {(span.stream_id, offset) for offset in offsets} <= own
            if index not in failing:
                self.reads.update(own)
                self.owned |= {(r.stream_id, r.offset) for r in task.reads if r.is_owner}

    def _check_nothing_is_passed(
        self,
        found: Plan,
        failing: frozenset[int],
        dataset_id: str,
        stream: IngestStream,
        end: int,
    ) -> None:
        done = {
            (span.stream_id, offset)
            for index, task in enumerate(found.tasks)
            for work in task.works
            if work.dataset_id == dataset_id and index not in failing
            for span in work.ranges
            for offset in range(span.start, span.end + 1)
        }
        for baby in stream.babies:
            if stream.merged[dataset_id] < baby.offset <= end and (
                not baby.dataset_ids or dataset_id in baby.dataset_ids
            ):
                key = (dataset_id, stream.stream_id, baby.offset)
                assert key not in self.merged
                assert key[1:] in done
                self.merged.add(key)

    def _check_strays(self) -> None:
        """Reap babies that all datasets have passed: their strays must be in the quarantine."""
        for stream in self.streams.values():
            floor = min(stream.merged.values())
            for baby in stream.babies:
                if baby.offset <= floor and (not baby.dataset_ids or GONE in baby.dataset_ids):
                    assert (stream.stream_id, baby.offset) in self.owned


@st.composite
def streams(draw: st.DrawFn) -> dict[str, IngestStream]:
    found = {}
    for name in draw(st.lists(st.sampled_from("abc"), unique=True, min_size=1)):
        count = draw(st.integers(1, 10))
        babies = tuple(
            BabyFacts(
                offset,
                draw(st.sampled_from([10, 1_000_000, 9_000_000])),
                NOW + offset * SECOND,
                draw(st.frozensets(st.sampled_from([*DATASETS, GONE]), min_size=0, max_size=4)),
            )
            for offset in range(count)
        )
        entries = draw(st.sets(st.sampled_from(DATASETS), min_size=1))
        held = tuple(
            replace(b, dataset_ids=b.dataset_ids & {*entries, GONE} or frozenset((GONE,)))
            if b.dataset_ids
            else b
            for b in babies
        )
        found[name] = IngestStream(name, count - 1, dict.fromkeys(entries, -1), held)
    return found


LIMITS = st.builds(
    Limits,
    bytes_max=st.sampled_from([1, 20_000_000, 10**9]),
    babies_max=st.integers(1, 20),
    tasks_max=st.sampled_from([1, 2, 3, 8]),
    wait_secs=st.sampled_from([0.0, 2.0, 5.0]),
    bytes_min=st.sampled_from([1, 1_000_000, 10**9]),
    idle_advance_secs=st.sampled_from([0.0, 3.0]),
)


def finish(history: PlannedHistory) -> None:
    for _ in range(CYCLES_MAX):
        history.now += SECOND
        found = history.cycle()
        if not found.moves and history.now > NOW + 60 * SECOND:
            break
    assert all(
        set(stream.merged.values()) == {stream.committed_offset}
        for stream in history.streams.values()
    )


@given(streams(), LIMITS)
def test_every_baby_is_merged_once_and_read_at_most_twice(
    found: dict[str, IngestStream], limits: Limits
) -> None:
    history = PlannedHistory(found, limits)

    finish(history)

    for stream in found.values():
        for baby in stream.babies:
            # Once more, for the quarantine, if it names a dataset that is gone.
            assert history.reads[stream.stream_id, baby.offset] <= 2 + (GONE in baby.dataset_ids)


@given(streams(), LIMITS, st.lists(st.frozensets(st.integers(0, 3)), max_size=6))
def test_tasks_that_fail_lose_nothing(
    found: dict[str, IngestStream], limits: Limits, failures: list[frozenset[int]]
) -> None:
    history = PlannedHistory(found, limits)
    for failing in failures:
        history.now += SECOND
        history.cycle(failing)

    finish(history)


@pytest.mark.parametrize("babies_max", [1, 1_000])
def test_one_busy_dataset_among_many_is_merged_often_and_alone(babies_max: int) -> None:
    quiet = [str(UUID(int=i)) for i in range(100, 140)]
    babies = tuple(
        BabyFacts(o, 1_000_000, NOW + o * SECOND, frozenset((DATASETS[0], quiet[o % 40])))
        for o in range(120)
    )
    merged = dict.fromkeys([DATASETS[0], *quiet], -1)
    limits = Limits(10**9, babies_max, wait_secs=60.0, bytes_min=4_000_000, idle_advance_secs=60.0)
    history = PlannedHistory({"s": IngestStream("s", 119, merged, babies)}, limits)
    registrations = Counter[bool]()
    for _ in range(400):
        history.now += SECOND
        registrations.update(m.dataset_id == DATASETS[0] for m in history.cycle().moves)

    assert max(history.reads.values()) <= 2
    assert set(history.streams["s"].merged.values()) == {119}
    assert registrations[True] >= 12
    if babies_max > 1:
        assert registrations[False] <= 40 * 4
