"""Registrations that claim deduplication keys: refused as a whole, and in any order once."""

from dataclasses import dataclass, field
from uuid import UUID

import pytest

from meta.errors import (
    EventsClaimed,
    EventsOutsideWindow,
    ExcessEvents,
    LayoutChanged,
    OffsetConflict,
)
from meta.store.catalog import datasets
from meta.store.deduplication import windows
from meta.store.deduplication.windows import DayKeys, RetainedDays
from meta.store.engine.pool import Transaction
from meta.store.registration.calls import Merge
from meta.store.registration.deduplication import FIELD, EventClaims
from meta.store.segments.segments import NewSegment
from meta.store.streams.stream_datasets import EntryMove
from meta.store.versions import clock
from meta.store.versions.versions import Version
from segments.offsets import OffsetSpan
from tests.support.interleaving.in_process_calls import InProcessScene, new_segment, register
from tests.support.interleaving.interleaver import Interleaver, Work
from tests.support.meta.deduplication_keys import hash_of

# Records of a baby segment.
RECORDS = 10


@dataclass
class Once:
    """A dataset in which each event is a row once."""

    scene: InProcessScene
    dataset_id: UUID = field(init=False)

    def __post_init__(self) -> None:
        self.dataset_id = self.scene.dataset()
        self.key = self._read(lambda tx: datasets.get(tx, self.dataset_id).key)
        self.today = self._read(clock.now_nanos) // (86_400 * 10**9)
        self.scene.execute("INSERT INTO dataset_deduplication VALUES (:key, 7, 'k')", key=self.key)
        self.scene.execute(
            "UPDATE datasets SET deduplication_rule = 1 WHERE key = :key", key=self.key
        )

    def stream(self) -> UUID:
        """Make a stream with a baby segment."""
        return self.scene.stream(self.dataset_id, committed=0)

    def register(
        self,
        stream_id: UUID,
        *names: int,
        segment: NewSegment | None = None,
        duplicates: int = 0,
        rule: int = 1,
        days_ago: int = 0,
    ) -> Version:
        """Register a segment of a stream's baby segment, whose events have these keys."""
        rows = RECORDS - duplicates
        segments = () if rows <= 0 else (segment or new_segment(self.dataset_id, events=rows),)
        day = DayKeys(self.today - days_ago, b"".join(map(hash_of, names)))
        merge = Merge(
            self.dataset_id,
            segments,
            (EntryMove(self.dataset_id, OffsetSpan(str(stream_id), 0, 0), 1),),
            stated={FIELD: EventClaims(rule, (day,) if names else (), duplicates)},
        )
        return register(self.scene.transactions, merge)

    def refuse_outside(self) -> int:
        """Refuse events outside the window from now on."""

        def work(tx: Transaction) -> int:
            datasets.lock_columns(tx, [self.dataset_id])
            windows.keep(tx, self.key, RetainedDays(7, refuses_outside=True), None)
            return 0

        return self.scene.transactions.write(work)

    def duplicates(self) -> int:
        """The ledger's entry."""
        return self._read(lambda tx: windows.count_duplicates(tx, self.key))

    def rows(self) -> int:
        """Rows that readers see."""
        ((rows,),) = self.scene.rows(
            "SELECT coalesce(sum(number_of_events), 0)::bigint FROM segments"
            " WHERE dataset_key = :key",
            key=self.key,
        )
        assert isinstance(rows, int)
        return rows

    def _read(self, work: object) -> int:
        assert callable(work)
        return int(self.scene.transactions.read(lambda tx: _call(work, tx)))


def _call(work: object, tx: Transaction) -> int:
    assert callable(work)
    return int(work(tx))


@pytest.fixture
def once(scene: InProcessScene) -> Once:
    return Once(scene)


def test_a_registration_with_a_claimed_identity_is_refused_as_a_whole(once: Once) -> None:
    first, second = once.stream(), once.stream()
    once.register(first, 1, 2, 3)

    with pytest.raises(EventsClaimed) as refusal:
        once.register(second, 9, 3, 8, 1)

    assert refusal.value.metadata.items() >= {("claimed", "2"), ("positions", "1,3")}
    assert once.scene.merged_offset(second, once.dataset_id) == -1
    assert once.rows() == RECORDS
    # None of its other deduplication keys are claimed.
    once.register(second, 9, 8, duplicates=2)


def test_acknowledged_records_are_rows_or_repeats(once: Once) -> None:
    once.register(once.stream(), *range(RECORDS))
    once.register(once.stream(), 100, 101, duplicates=RECORDS - 2)

    assert (once.rows(), once.duplicates()) == (RECORDS + 2, RECORDS - 2)


def test_baby_segments_of_repeats_alone_are_passed_and_counted_once(once: Once) -> None:
    once.register(once.stream(), *range(RECORDS))
    stream_id = once.stream()

    version = once.register(stream_id, duplicates=RECORDS)

    assert once.register(stream_id, duplicates=RECORDS) == version
    assert once.scene.merged_offset(stream_id, once.dataset_id) == 0
    assert (once.rows(), once.duplicates()) == (RECORDS, RECORDS)


def test_rows_and_repeats_are_no_more_than_the_records_of_the_baby_segments(once: Once) -> None:
    segment = new_segment(once.dataset_id, events=RECORDS)

    with pytest.raises(ExcessEvents):
        once.register(once.stream(), 1, segment=segment, duplicates=1)
    with pytest.raises(ExcessEvents):
        once.register(once.stream(), duplicates=RECORDS + 1)

    assert once.duplicates() == 0
    once.register(once.stream(), 1)


def test_a_repeated_call_is_answered_as_the_first_one(once: Once) -> None:
    stream_id, segment = once.stream(), new_segment(once.dataset_id, events=RECORDS - 4)

    version = once.register(stream_id, 1, 2, segment=segment, duplicates=4)

    assert once.register(stream_id, 1, 2, segment=segment, duplicates=4) == version
    assert once.duplicates() == 4


def test_a_refused_move_claims_nothing(once: Once) -> None:
    stream_id = once.stream()
    once.register(stream_id, 1)

    with pytest.raises(OffsetConflict):
        once.register(stream_id, 2)

    once.register(once.stream(), 2)


def test_a_dataset_whose_events_have_no_identity_refuses_them(once: Once) -> None:
    once.scene.execute("DELETE FROM dataset_deduplication WHERE dataset_key = :key", key=once.key)
    once.scene.execute(
        "UPDATE datasets SET deduplication_rule = NULL WHERE key = :key", key=once.key
    )

    with pytest.raises(LayoutChanged):
        once.register(once.stream(), 1)


def test_identities_by_another_rule_are_refused(once: Once) -> None:
    with pytest.raises(LayoutChanged):
        once.register(once.stream(), 1, rule=2)


def test_of_two_registrations_with_one_identity_exactly_one_claims_it(
    interleaver: Interleaver, once: Once
) -> None:
    """Through every order of their statements; the other one is refused and claims nothing."""
    made = list[tuple[tuple[UUID, UUID], int]]()

    def make() -> tuple[Work, Work]:
        first, second, name = once.stream(), once.stream(), 1_000 * (len(made) + 1)
        made.append(((first, second), name))
        return (
            lambda: once.register(first, name, name + 1),
            lambda: once.register(second, name + 2, name),
        )

    for outcome in interleaver.explore(make):
        streams, name = made[-1]
        answers = [outcome.first, outcome.second]
        refusals = [answer for answer in answers if isinstance(answer, EventsClaimed)]
        assert len(refusals) == 1
        assert [type(answer) for answer in answers].count(int) == 1
        place = answers.index(refusals[0])
        assert once.scene.merged_offset(streams[place], once.dataset_id) == -1
        once.register(streams[place], name + 1 + place, duplicates=1)


def test_an_event_outside_is_registered_before_the_setting_or_never(
    interleaver: Interleaver, once: Once
) -> None:
    """Through every order of their statements; a refused registration changes nothing."""
    streams = list[UUID]()

    def make() -> tuple[Work, Work]:
        once.scene.execute("UPDATE dataset_deduplication SET refuses_outside = false")
        stream = once.stream()
        streams.append(stream)
        return lambda: once.register(stream, len(streams), days_ago=9), once.refuse_outside

    answers = set()
    for outcome in interleaver.explore(make):
        answers.add(type(outcome.first))
        is_registered = isinstance(outcome.first, int)
        assert outcome.second == 0
        merged = once.scene.merged_offset(streams[-1], once.dataset_id)
        assert merged == (0 if is_registered else -1)
        with pytest.raises(EventsOutsideWindow):
            once.register(once.stream(), 10_000, days_ago=9)
        once.register(once.stream(), 20_000 + len(streams))

    assert answers == {int, EventsOutsideWindow}
