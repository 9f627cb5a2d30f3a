"""Pairs of hot mutating calls, through every order of their statements on two sessions."""

import pytest
from sqlalchemy import text

from meta.store import versions
from tests.conftest import MetaServer
from tests.property.interleaver import Interleaver


@pytest.fixture
def interleaver(meta_server: MetaServer) -> Interleaver:
    """Explore over the server's own connection pool."""
    database = meta_server.running.database
    return Interleaver(database.engine, meta_server.settings.database.url)


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
