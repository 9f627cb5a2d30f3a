"""Pairs of calls about streams, through every order of their statements on two sessions."""

from collections.abc import Iterable
from uuid import UUID

import pytest

from meta.errors import MetaError
from meta.store.segments.segments import NewSegment
from meta.store.versions.versions import Version
from tests.support.interleaving.in_process_calls import (
    InProcessScene,
    Read,
    attempt_of,
    baby,
    new_segment,
)
from tests.support.interleaving.interleaver import Interleaver, ScheduleOutcome, Work


def kinds(outcomes: Iterable[ScheduleOutcome]) -> set[tuple[str, str]]:
    """Outcomes of the two calls of each schedule: "ok", or the name of an error's class."""
    return {(_kind(one.first), _kind(one.second)) for one in outcomes}


def _kind(answer: object) -> str:
    return type(answer).__name__ if isinstance(answer, Exception) else "ok"


def test_of_two_merges_of_the_same_babies_exactly_one_is_registered(
    interleaver: Interleaver, scene: InProcessScene
) -> None:
    dataset_id, streams = scene.dataset(), list[UUID]()

    def make() -> tuple[Work, Work]:
        stream_id = scene.stream(dataset_id, committed=3)
        streams.append(stream_id)
        return (
            lambda: scene.register(stream_id, dataset_id, -1, 1, new_segment(dataset_id)),
            lambda: scene.register(stream_id, dataset_id, -1, 3, new_segment(dataset_id)),
        )

    outcomes = list(interleaver.explore(make))

    assert kinds(outcomes) == {("ok", "OffsetConflict"), ("OffsetConflict", "ok")}
    for stream_id, one in zip(streams, outcomes, strict=True):
        ends = 1 if _kind(one.first) == "ok" else 3
        assert scene.merged_offset(stream_id, dataset_id) == ends
        assert _registered(scene, stream_id) == [(-1, ends)]
    assert len(scene.find(scene.name_of(dataset_id)).ids) == len(outcomes)


def test_the_same_registration_sent_twice_at_once_is_one_at_one_version(
    interleaver: Interleaver, scene: InProcessScene
) -> None:
    dataset_id = scene.dataset()

    def make() -> tuple[Work, Work]:
        stream_id, segment = scene.stream(dataset_id, committed=1), new_segment(dataset_id)
        work = lambda: scene.register(stream_id, dataset_id, -1, 1, segment)  # noqa: E731
        return work, work

    outcomes = list(interleaver.explore(make))

    assert all(one.first == one.second and isinstance(one.first, int) for one in outcomes)
    assert len(scene.find(scene.name_of(dataset_id)).ids) == len(outcomes)


def test_what_a_version_shows_never_changes_while_others_commit(
    interleaver: Interleaver, scene: InProcessScene
) -> None:
    """I4 and I5: the reader comes right after a commit, the other writer is anywhere."""
    dataset_id, reads = scene.dataset(), list[Read]()
    name = scene.name_of(dataset_id)

    def save_and_read() -> Version:
        version, _ = scene.save(new_segment(dataset_id))
        reads.append(scene.find(name))
        return version

    schedules = interleaver.explore(
        lambda: (lambda: scene.save(new_segment(dataset_id)), save_and_read)
    )

    for one in schedules:
        read = reads.pop()
        assert isinstance(one.second, int)
        assert read.version >= one.second
        assert scene.find(name, as_of=read.version).ids == read.ids


@pytest.mark.parametrize("way", ["register", "save"])
def test_an_object_is_never_both_live_and_condemned(
    interleaver: Interleaver, scene: InProcessScene, way: str
) -> None:
    dataset_id, made = scene.dataset(), list[tuple[UUID, NewSegment]]()

    def make() -> tuple[Work, Work]:
        stream_id, new = scene.stream(dataset_id, committed=1), new_segment(dataset_id)
        made.append((stream_id, new))
        show = {
            "register": lambda: scene.register(stream_id, dataset_id, -1, 1, new),
            "save": lambda: scene.save(new),
        }
        return show[way], lambda: scene.condemn(new.object_key)

    outcomes = list(interleaver.explore(make))

    assert kinds(outcomes) == {("ok", "ok"), ("ObjectCondemned", "ok")}
    for (stream_id, new), one in zip(made, outcomes, strict=True):
        is_live = _kind(one.first) == "ok"
        assert one.second == ([] if is_live else [new.object_key])
        assert bool(_segments_of(scene, new)) == is_live
        if way == "register":
            assert scene.merged_offset(stream_id, dataset_id) == (1 if is_live else -1)


@pytest.mark.parametrize("call", ["commit_one", "commit_batch"])
def test_of_two_flushes_at_one_offset_exactly_one_is_committed(
    interleaver: Interleaver, scene: InProcessScene, call: str
) -> None:
    dataset_id, streams = scene.dataset(), list[UUID]()

    def make() -> tuple[Work, Work]:
        stream_id = scene.stream(dataset_id, committed=0)
        streams.append(stream_id)
        return (
            lambda: _commit(scene, call, stream_id, dataset_id, flush=1),
            lambda: _commit(scene, call, stream_id, dataset_id, flush=2),
        )

    outcomes = list(interleaver.explore(make))

    assert kinds(outcomes) == {("ok", "OffsetTaken"), ("OffsetTaken", "ok")}
    for stream_id, one in zip(streams, outcomes, strict=True):
        flush = 1 if _kind(one.first) == "ok" else 2
        assert _babies(scene, stream_id)[1:] == [(1, flush.to_bytes(16))]


@pytest.mark.parametrize("ahead", [0, 1])
def test_nothing_is_committed_beyond_a_stop(
    interleaver: Interleaver, scene: InProcessScene, ahead: int
) -> None:
    dataset_id, streams = scene.dataset(), list[UUID]()

    def make() -> tuple[Work, Work]:
        stream_id = scene.stream(dataset_id, committed=0)
        streams.append(stream_id)
        return (
            lambda: scene.commit(baby(stream_id, 1, dataset_id)),
            lambda: scene.stop(stream_id, ahead),
        )

    outcomes = list(interleaver.explore(make))

    if ahead:
        assert kinds(outcomes) == {("ok", "ok"), ("OffsetTaken", "ok")}
    else:
        assert kinds(outcomes) == {("ok", "StopMismatch"), ("StreamStopped", "ok")}
    for stream_id in streams:
        ((committed, is_stopped, stopped),) = scene.rows(
            "SELECT h.committed_offset, h.is_stopped, s.stopped_offset FROM ingest_streams s"
            " JOIN stream_heads h ON h.stream_id = s.id WHERE s.id = :stream",
            stream=stream_id,
        )
        assert stopped == (committed if is_stopped else None)
        assert [offset for offset, _ in _babies(scene, stream_id)] == list(range(committed + 1))  # type: ignore[operator]


@pytest.mark.long
def test_a_removed_entry_comes_back_with_a_commit_that_is_stamped_with_it(
    interleaver: Interleaver, scene: InProcessScene
) -> None:
    dataset_id, streams = scene.dataset(), list[UUID]()

    def make() -> tuple[Work, Work]:
        stream_id = scene.stream(dataset_id, committed=0)
        scene.register(stream_id, dataset_id, -1, 0)
        scene.reap(stream_id, 0)
        streams.append(stream_id)
        return (
            lambda: _commit(scene, "both", stream_id, dataset_id, flush=1),
            lambda: attempt_of(lambda: scene.remove_entry(stream_id, dataset_id, 0)),
        )

    outcomes = list(interleaver.explore(make))

    assert {type(one.second).__name__ for one in outcomes} == {"NoneType", "NotDrained"}
    for stream_id in streams:
        assert scene.merged_offset(stream_id, dataset_id) == 0


def test_babies_are_never_reaped_beyond_an_entry_that_a_commit_makes(
    interleaver: Interleaver, scene: InProcessScene
) -> None:
    old, new, streams = scene.dataset(), scene.dataset(), list[UUID]()

    def make() -> tuple[Work, Work]:
        stream_id = scene.stream(old, committed=1)
        scene.register(stream_id, old, -1, 1)
        # Its entry was removed a moment ago; else the stamp would be foreign.
        scene.execute(
            "INSERT INTO stream_removals (version, stream_id, dataset_id, shard_hash)"
            " VALUES (1, :stream, :dataset, 0)",
            stream=stream_id,
            dataset=new,
        )
        streams.append(stream_id)
        return (
            lambda: scene.commit(baby(stream_id, 2, new)),
            lambda: attempt_of(lambda: scene.reap(stream_id, 1)),
        )

    outcomes = list(interleaver.explore(make))

    assert kinds(outcomes) == {("ok", "ok")}
    for stream_id in streams:
        assert scene.merged_offset(stream_id, new) == 1


def _commit(
    scene: InProcessScene, call: str, stream_id: UUID, dataset_id: UUID, *, flush: int
) -> object:
    """Commit offset 1 alone, or in a batch of one and then, unanswered, alone."""
    commit = baby(stream_id, 1, dataset_id, flush=flush)
    if call == "commit_one":
        return scene.commit(commit)
    (answer,) = scene.commit_batch(commit)
    if isinstance(answer, MetaError):
        raise answer
    return answer or scene.commit(commit)


def _registered(scene: InProcessScene, stream_id: UUID) -> list[tuple[object, ...]]:
    return scene.rows(
        "SELECT start_offset, end_offset FROM registrations WHERE stream_id = :stream"
        " ORDER BY end_offset",
        stream=stream_id,
    )


def _segments_of(scene: InProcessScene, new: NewSegment) -> list[tuple[object, ...]]:
    statement = "SELECT id FROM segments WHERE object_name = :name"
    return scene.rows(statement, name=new.object_name)


def _babies(scene: InProcessScene, stream_id: UUID) -> list[tuple[object, ...]]:
    statement = 'SELECT "offset", flush_id FROM baby_segments WHERE stream_id = :s ORDER BY 1'
    return scene.rows(statement, s=stream_id)
