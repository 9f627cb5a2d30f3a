"""Steps of the database's clock: no age counts what no server has observed."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from meta import config
from meta.store.deletion import tombstones
from meta.store.pins import pin_lists
from meta.store.versions.clock import NOW
from meta.watches.clock_watch import UNOBSERVED_SECS_MAX, ClockWatch
from tests.support.examples import examples
from tests.support.meta.settable_clock import World, observed_world

HOUR = 3_600.0
GRACE = 2_100.0


@pytest.fixture
def world(meta_settings: config.Settings, database_url: str) -> Iterator[World]:
    """Give a world that one server observes."""
    with observed_world(meta_settings, database_url) as made:
        yield made


@pytest.mark.parametrize("step_secs", [HOUR, 400 * 86_400.0], ids=["an hour", "a year"])
def test_a_step_forward_cuts_no_grace_short(world: World, step_secs: float) -> None:
    stamp = world.clock.now
    world.let_pass(GRACE / 2)

    # Before any server has noticed, and after.
    world.clock.advance(step_secs)
    assert not world.is_older(stamp, GRACE)
    world.watch.observe()
    assert not world.is_older(stamp, GRACE)
    world.let_pass(GRACE / 2 - 2)
    assert not world.is_older(stamp, GRACE)

    world.let_pass(4)
    assert world.is_older(stamp, GRACE)


def test_what_is_stamped_after_a_step_ages_as_ever(world: World) -> None:
    world.step(HOUR)
    stamp = world.clock.now
    world.let_pass(GRACE - 1)
    assert not world.is_older(stamp, GRACE)
    world.let_pass(2)
    assert world.is_older(stamp, GRACE)


@pytest.mark.parametrize("step_secs", [HOUR, 10 * HOUR])
def test_a_step_backward_and_forward_again_cuts_no_grace_short(
    world: World, step_secs: float
) -> None:
    before = world.clock.now
    world.let_pass(60)
    world.step(-step_secs)
    between = world.clock.now
    world.let_pass(60)
    world.step(step_secs)

    assert not world.is_older(before, GRACE)
    assert not world.is_older(between, GRACE)
    world.let_pass(GRACE)
    assert world.is_older(between, GRACE)


def test_a_pause_of_the_server_that_the_clock_shares_is_time(world: World) -> None:
    """Such as a suspended machine: both clocks go on."""
    stamp = world.clock.now

    world.let_pass(HOUR)

    assert world.is_older(stamp, GRACE)


def test_a_time_without_a_server_is_not_part_of_an_age(world: World) -> None:
    stamp = world.clock.now
    world.let_pass(100)
    world.true_time.now += HOUR
    world.clock.advance(HOUR)
    with capture_logs() as events:
        world.restart()

    assert not world.is_older(stamp, GRACE)
    assert [e["seconds"] for e in events if e["event"] == "clock_unobserved"] == [HOUR]
    world.let_pass(GRACE - 100 + 1)
    assert world.is_older(stamp, GRACE)


def test_a_restart_of_a_minute_is_time(world: World) -> None:
    stamp = world.clock.now
    world.let_pass(GRACE - UNOBSERVED_SECS_MAX)
    world.true_time.now += UNOBSERVED_SECS_MAX
    world.clock.advance(UNOBSERVED_SECS_MAX)
    world.restart()

    world.let_pass(1)
    assert world.is_older(stamp, GRACE)


def test_two_servers_note_a_step_once(world: World) -> None:
    other = ClockWatch(world.transactions, world.true_time)
    other.observe()
    stamp = world.clock.now
    world.step(HOUR)
    other.observe()
    world.let_pass(5)
    other.observe()

    world.let_pass(GRACE - 6)
    assert not world.is_older(stamp, GRACE)
    world.let_pass(2)
    assert world.is_older(stamp, GRACE)


def test_a_step_backward_does_not_lengthen_leases(world: World) -> None:
    world.let_pass(1)
    with world.transactions.database.write() as tx:
        tx.exec_driver_sql(
            "INSERT INTO nurseries VALUES ('n', clock_timestamp() + interval '60 s')"
        )
        tx.exec_driver_sql(
            "INSERT INTO scrub_state (name, checked_through, objects, size_bytes, is_complete,"
            " holder, lease_until)"
            " VALUES ('janitor', '', 0, 0, false, 'j', clock_timestamp() + interval '60 s')"
        )
    with capture_logs() as events:
        world.step(-10 * HOUR)

    assert [e["seconds"] for e in events if e["event"] == "database_clock_stepped"] == [-10 * HOUR]
    with world.transactions.database.read() as tx:
        left = [
            tx.exec_driver_sql(f"SELECT lease_until - now() FROM {table}").scalar_one()  # noqa: S608
            for table in ("nurseries", "scrub_state")
        ]
    assert left == [timedelta(seconds=60)] * 2


def test_a_tombstone_is_handed_out_a_whole_grace_after_a_step(
    world: World, meta_settings: config.Settings
) -> None:
    def due() -> int:
        with world.transactions.database.write() as tx:
            return len(tombstones.hand_out(tx, grace_secs=GRACE, most=10))

    with world.transactions.database.write() as tx:
        for statement in _TOMBSTONE:
            tx.exec_driver_sql(statement)
    world.step(HOUR)
    assert due() == 0
    world.let_pass(GRACE + 1)
    assert due() == 1


_TOMBSTONE = (
    "INSERT INTO datasets (id, name) VALUES (gen_random_uuid(), 'buried')",
    "INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version,"
    " tombstone_version, tombstone_at, size_bytes, compressed_size_bytes, number_of_events,"
    " prefix, object_name)"
    " SELECT gen_random_uuid(), key, 6, 0, 1, 1, 2, clock_timestamp(), 1, 1, 1, 'dataset', 'o'"
    " FROM datasets WHERE name = 'buried'",
)
_EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["pass", "step", "downtime", "stamp"]),
        st.floats(min_value=0, max_value=2 * HOUR),
        st.booleans(),
    ),
    max_size=12,
)


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(events=_EVENTS)
def test_no_age_is_longer_than_the_time_that_has_passed(
    world: World, events: list[tuple[str, float, bool]]
) -> None:
    """Whatever the clock does; each unnoticed step may be taken for a restart's minute."""
    stamps = [(world.clock.now, world.true_time.now, 0)]
    steps = 0
    for kind, secs, is_back in events:
        if kind == "pass":
            world.let_pass(secs)
        elif kind == "step":
            world.step(-secs if is_back else secs)
            # Below the tolerance a step is taken for drift.
            steps += secs <= 15
        elif kind == "downtime":
            world.true_time.now += secs
            # The clock may also step while nobody looks.
            world.clock.advance(secs + (UNOBSERVED_SECS_MAX if is_back else 0))
            world.restart()
            steps += is_back
        else:
            stamps.append((world.clock.now, world.true_time.now, steps))
    for stamp, true_stamp, steps_before in stamps:
        elapsed = world.true_time.now - true_stamp
        slack = (steps - steps_before) * UNOBSERVED_SECS_MAX + 1
        assert not world.is_older(stamp, elapsed + slack)


def test_a_pin_lasts_its_lease_through_steps_in_both_directions(world: World) -> None:
    def live() -> int:
        with world.transactions.database.read() as tx:
            return int(tx.exec_driver_sql(f"SELECT count(*) {_LIVE_PINS}").scalar_one())

    with world.transactions.database.write() as tx:
        tx.exec_driver_sql(_PIN)
    world.let_pass(600)

    # Before any server has noticed, and after.
    world.clock.advance(HOUR)
    assert live() == 1
    world.watch.observe()
    assert live() == 1
    world.step(-10 * HOUR)
    world.let_pass(2_990)
    assert live() == 1
    world.let_pass(20)
    assert live() == 0


def test_a_step_that_no_server_has_noticed_ends_no_pin(world: World) -> None:
    """The rule that forgets expired pins may run before the clock is observed again."""
    with world.transactions.database.write() as tx:
        tx.exec_driver_sql(_PIN)
    world.let_pass(600)

    world.clock.advance(2 * HOUR)

    assert world.transactions.write(pin_lists.forget_expired) == 0
    assert world.transactions.read(pin_lists.totals).number == 1


_PIN = (
    "INSERT INTO pins (id, owner, dataset_key, version, expires_at, ends_at, held_segments,"
    " held_bytes) SELECT gen_random_uuid(), 'owner', 1, 1, t, t + interval '1 day', 0, 0"
    " FROM (SELECT clock_timestamp() + interval '1 hour') t (t)"
)
_LIVE_PINS = f"FROM pins WHERE expires_at > {NOW}"
