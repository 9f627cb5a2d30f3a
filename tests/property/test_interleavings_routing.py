"""Pairs of calls about routing, through every order of their statements on two sessions."""

from uuid import UUID, uuid4

import pytest

from tests.support.interleaving.in_process_calls import InProcessScene, baby
from tests.support.interleaving.interleaver import Interleaver, Work
from tests.support.interleaving.operators import Operator

# The routing in force for a baby without stamps, by the periods that meta keeps.
_ROUTES = """
    SELECT DISTINCT logs_dataset_id FROM (
      SELECT DISTINCT ON (token_id) logs_dataset_id FROM routing_periods
      WHERE stream_id = :stream AND from_offset <= :offset ORDER BY token_id, from_offset DESC) r
"""


@pytest.mark.parametrize("stamp", ["none", "new"])
def test_a_record_is_in_exactly_one_dataset_whenever_its_routing_changes(
    interleaver: Interleaver, operator: Operator, stamp: str
) -> None:
    """The baby is committed while the token that it carries is routed to another dataset."""
    scene = operator.scene
    old, new, streams = scene.dataset(), scene.dataset(), list[UUID]()

    def make() -> tuple[Work, Work]:
        token_id, plaintext = operator.token(old)
        stream_id = operator.admit(uuid4().hex, plaintext)
        scene.commit(baby(stream_id, 0))
        streams.append(stream_id)
        stamps = (new,) if stamp == "new" else ()
        return (
            lambda: operator.route(token_id, new),
            lambda: scene.commit(baby(stream_id, 1, *stamps)),
        )

    outcomes = list(interleaver.explore(make))

    assert all(one.first is None and not isinstance(one.second, Exception) for one in outcomes)
    for stream_id in streams:
        taker = new if stamp == "new" else _routed_to(scene, stream_id, 1)
        # A stamp that came before the route is for the quarantine: no entry passes it unread.
        merged = scene.merged_offset(stream_id, old)
        is_awaited_by_all = merged is not None and merged < 1
        is_foreign = (
            stamp == "new" and is_awaited_by_all and new not in _takers(scene, stream_id, 1)
        )
        assert is_foreign or taker in _takers(scene, stream_id, 1)
        assert _routed_to(scene, stream_id, 0) == old
        assert old in _takers(scene, stream_id, 0)
        assert new not in _takers(scene, stream_id, 0)


@pytest.mark.slow
def test_a_collector_that_registers_while_its_routing_changes_gets_every_entry(
    interleaver: Interleaver, operator: Operator
) -> None:
    scene = operator.scene
    old, new = scene.dataset(), scene.dataset()

    def make() -> tuple[Work, Work]:
        token_id, plaintext = operator.token(old)
        collector_id = uuid4().hex
        return (
            lambda: operator.route(token_id, new),
            lambda: operator.admit(collector_id, plaintext),
        )

    outcomes = list(interleaver.explore(make))

    for one in outcomes:
        assert isinstance(one.second, UUID)
        assert scene.merged_offset(one.second, new) == -1
        assert _routed_to(scene, one.second, 0) == new


def test_two_incarnations_of_a_collector_get_one_stream(
    interleaver: Interleaver, operator: Operator
) -> None:
    scene, dataset_id, other_id = operator.scene, operator.scene.dataset(), operator.scene.dataset()
    plaintexts = [operator.token(one)[1] for one in (dataset_id, other_id)]

    def make() -> tuple[Work, Work]:
        collector_id = uuid4().hex
        return (
            lambda: operator.admit(collector_id, plaintexts[0]),
            lambda: operator.admit(collector_id, plaintexts[1]),
        )

    for one in interleaver.explore(make):
        assert one.first == one.second
        assert isinstance(one.first, UUID)
        assert scene.merged_offset(one.first, dataset_id) == -1
        assert scene.merged_offset(one.first, other_id) == -1


def test_a_collector_that_registers_while_its_stream_stops_has_a_stream(
    interleaver: Interleaver, operator: Operator
) -> None:
    scene = operator.scene
    _, plaintext = operator.token(scene.dataset())
    olds = list[UUID]()

    def make() -> tuple[Work, Work]:
        collector_id = uuid4().hex
        olds.append(operator.admit(collector_id, plaintext))
        return (
            lambda: operator.admit(collector_id, plaintext),
            lambda: scene.stop(olds[-1], -1),
        )

    found = {one.first == olds[-1] for one in interleaver.explore(make) if _is_id(one.first)}

    assert found == {True, False}


def _is_id(answer: object) -> bool:
    assert isinstance(answer, UUID), repr(answer)
    return True


def _routed_to(scene: InProcessScene, stream_id: UUID, offset: int) -> object:
    ((dataset_id,),) = scene.rows(_ROUTES, stream=stream_id, offset=offset)
    return dataset_id


def _takers(scene: InProcessScene, stream_id: UUID, offset: int) -> set[object]:
    """The datasets whose entries still wait for a baby or have merged it: not those begun later."""
    statement = (
        "SELECT dataset_id FROM stream_datasets WHERE stream_id = :s AND base_offset < :offset"
    )
    return {row[0] for row in scene.rows(statement, s=stream_id, offset=offset)}
