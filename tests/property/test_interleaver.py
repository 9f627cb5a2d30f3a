"""The interleaver itself: what it explores, and that it finds races that are there."""

from collections import Counter

import pytest
from sqlalchemy import text

from meta.store.versions import versions
from tests.support.interleaving.in_process_calls import InProcessScene
from tests.support.interleaving.interleaver import Interleaver, Work
from tests.support.meta.server import MetaServer

SET_VERSION = text("UPDATE meta_state SET version = :version")


def test_the_interleaver_reaches_both_orders_of_two_writers(
    meta_server: MetaServer, interleaver: Interleaver
) -> None:
    """The tool itself: two increments that lock one row end in either order, never lost."""
    database = meta_server.running.database

    def bump() -> int:
        with database.write() as tx:
            tx.execute(text("SELECT 1"))
            return versions.allocate(tx)

    outcomes = list(interleaver.explore(lambda: (bump, bump)))

    orders = {o.first < o.second for o in outcomes}  # type: ignore[operator]
    drawn = {v for o in outcomes for v in (o.first, o.second)}
    assert orders == {True, False}
    assert len(drawn) == 2 * len(outcomes)
    assert len({o.schedule for o in outcomes}) == len(outcomes)


def test_the_interleaver_finds_a_lost_update_and_leaves_no_other_outcome_out(
    meta_server: MetaServer, interleaver: Interleaver
) -> None:
    """Two read-then-write bumps without a lock, in all orders and in those that can matter."""
    database = meta_server.running.database

    def bump() -> int:
        with database.write() as tx:
            seen = versions.current(tx)
            tx.execute(text("SELECT count(*) FROM segments"))
            tx.execute(SET_VERSION, {"version": seen + 1})
            tx.execute(text("SELECT count(*) FROM merge_tasks"))
            return seen

    def make() -> tuple[Work, Work]:
        with database.write() as tx:
            tx.execute(SET_VERSION, {"version": 100})
        return bump, bump

    everything = Interleaver(database.engine, meta_server.settings.database.url, is_exhaustive=True)
    reduced = Counter((o.first, o.second) for o in interleaver.explore(make))
    full = Counter((o.first, o.second) for o in everything.explore(make))

    assert set(reduced) == {(100, 101), (101, 100), (100, 100)}
    assert set(full) == set(reduced)
    assert reduced.total() * 3 < full.total()


@pytest.mark.database_owner
def test_versions_drawn_from_a_sequence_would_break_stable_reads(
    interleaver: Interleaver, scene: InProcessScene
) -> None:
    """The counter row is needed: versions drawn otherwise violate I5, and the test detects it."""
    scene.execute("CREATE SEQUENCE drawn")

    def write() -> None:
        scene.execute(
            "INSERT INTO stream_removals (version, stream_id, dataset_id, shard_hash)"
            " SELECT nextval('drawn'), gen_random_uuid(), gen_random_uuid(), 0"
        )

    reads: list[tuple[object, object]] = []

    def write_and_read() -> None:
        write()
        ((newest,),) = scene.rows("SELECT max(version) FROM stream_removals")
        reads.append((newest, _up_to(scene, newest)))

    broken = 0
    for _ in interleaver.explore(lambda: (write, write_and_read)):
        newest, seen = reads.pop()
        broken += _up_to(scene, newest) != seen

    assert broken > 0


def _up_to(scene: InProcessScene, version: object) -> object:
    statement = "SELECT version FROM stream_removals WHERE version <= :version ORDER BY version"
    return scene.rows(statement, version=version)
