"""The deletion brake over time: retentions that stay, change, and are changed by mistake."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

import pytest

from meta import config
from meta.errors import DeletesUnconfirmed
from meta.store.catalog import dataset_settings
from meta.store.catalog.dataset_settings import DatasetSettings
from meta.store.deletion import baselines, deletion_brakes, retention, tombstones
from meta.store.deletion.baselines import Expiring
from meta.store.segments import burial
from meta.store.versions import versions
from tests.support.meta.settable_clock import World, observed_world

MINUTE, HOUR, DAY = 60, 3_600, 86_400
# The grace of the server.
GRACE = 2_100.0
STEP = 5 * MINUTE
PERCENT_MAX = 50
_INGEST = (
    "INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version,"
    " created_at, size_bytes, compressed_size_bytes, number_of_events, prefix, object_name)"
    " SELECT gen_random_uuid(), key, 6, at, at, %(version)s, clock_timestamp(), 5000, 1000, 10,"
    " 'dataset', gen_random_uuid()::text"
    " FROM datasets, generate_series(1, %(count)s) n,"
    " LATERAL (SELECT cast(extract(epoch FROM clock_timestamp()) AS bigint) * 1000000000) t (at)",
    "INSERT INTO dataset_stats AS t (dataset_key, live_segments, live_size_bytes,"
    " live_compressed_size_bytes, all_segments)"
    " SELECT key, %(count)s, %(count)s * 5000, %(count)s * 1000, %(count)s FROM datasets"
    " ON CONFLICT (dataset_key) DO UPDATE SET"
    " live_segments = t.live_segments + excluded.live_segments,"
    " live_size_bytes = t.live_size_bytes + excluded.live_size_bytes,"
    " live_compressed_size_bytes ="
    " t.live_compressed_size_bytes + excluded.live_compressed_size_bytes,"
    " all_segments = t.all_segments + excluded.all_segments",
)


@dataclass
class Installation:
    """One dataset, a server that applies its retention, and a janitor that comes and goes."""

    world: World
    dataset_id: UUID
    key: int

    def live(
        self, secs: float, *, a_step: int = 20, step: float = STEP, janitor: bool = True
    ) -> list[int]:
        """Let time pass with some new segments at each step; returns the brakes after each."""
        seen = []
        for _ in range(round(secs / step)):
            self.world.let_pass(step)
            self.ingest(a_step)
            self.bury_expired()
            if janitor:
                self.delete_due()
            seen.append(self.brakes())
        return seen

    def ingest(self, count: int) -> None:
        with self.world.transactions.database.write() as tx:
            values = {"version": versions.allocate(tx), "count": count}
            for statement in _INGEST:
                tx.exec_driver_sql(statement, values)

    def bury_expired(self) -> None:
        while self.world.transactions.write(retention.bury_expired):
            pass

    def delete_due(self) -> int:
        """Do what a janitor does; returns how many segments it deleted."""
        deleted = 0
        while True:
            with self.world.transactions.database.write() as tx:
                due = tombstones.hand_out(tx, grace_secs=GRACE, most=1_000, percent_max=PERCENT_MAX)
            if not due:
                return deleted
            ids = [segment.segment_id for segment in due]
            with self.world.transactions.database.write() as tx:
                confirmation = tombstones.confirm(tx, ids, grace_secs=GRACE)
            assert confirmation.early_ids == ()
            deleted += confirmation.deleted

    def brakes(self) -> int:
        with self.world.transactions.database.read() as tx:
            return len(deletion_brakes.list_visible(tx))

    def release(self) -> bool:
        with self.world.transactions.database.write() as tx:
            return deletion_brakes.release(tx, "web")

    def retain(self, secs: int, *, confirmed: int | None = None) -> Expiring:
        """Set the retention as SetDatasetSettings does."""
        settings = DatasetSettings(created_retention_secs=secs)
        with self.world.transactions.database.write() as tx:
            dataset_settings.write(tx, self.dataset_id, settings)
            return baselines.change(tx, self.key, settings, confirmed, PERCENT_MAX)

    def stored(self) -> tuple[int, int]:
        """Count the live segments and the tombstones."""
        with self.world.transactions.database.read() as tx:
            row = tx.exec_driver_sql(
                "SELECT count(*) FILTER (WHERE tombstone_version IS NULL),"
                " count(tombstone_version) FROM segments"
            ).one()
        return row[0], row[1]


@pytest.fixture
def web(meta_settings: config.Settings, database_url: str) -> Iterator[Installation]:
    """Give an installation with an empty dataset."""
    with observed_world(meta_settings, database_url) as world:
        with world.transactions.database.write() as tx:
            row = tx.exec_driver_sql(
                "INSERT INTO datasets (id, name) VALUES (gen_random_uuid(), 'web')"
                " RETURNING id, key"
            ).one()
        yield Installation(world, row[0], row[1])


@pytest.mark.long
def test_a_retention_as_long_as_the_grace_is_never_held(web: Installation) -> None:
    web.retain(35 * MINUTE)

    # A load that rises and falls: at times tombstones are several times what lives.
    seen = [web.live(HOUR, a_step=a_step) for a_step in (30, 60, 20, 20, 90, 15, 15)]

    assert not any(map(sum, seen))
    assert web.stored() == (8 * 15, 8 * 15)


@pytest.mark.long
def test_a_janitor_that_was_away_for_a_retention_is_not_held(web: Installation) -> None:
    web.retain(6 * HOUR)
    web.live(8 * HOUR, a_step=10)
    assert web.brakes() == 0

    web.live(6 * HOUR, a_step=10, janitor=False)
    web.live(HOUR, a_step=10, janitor=False)
    deleted = web.delete_due()

    assert deleted > 700
    assert web.brakes() == 0


def test_a_janitor_that_never_ran_is_not_held_by_a_retention_set_before_the_data(
    web: Installation,
) -> None:
    web.retain(2 * HOUR)
    web.live(8 * HOUR, janitor=False)

    assert web.delete_due() > 200
    assert web.brakes() == 0


@pytest.mark.long
def test_a_shortened_retention_is_held_until_released_and_then_never_again(
    web: Installation,
) -> None:
    web.retain(30 * DAY)
    web.live(6 * HOUR, a_step=120, step=HOUR / 2)

    assert web.retain(HOUR).segments == 120 * 9
    web.live(2 * HOUR)
    assert web.brakes() == 1
    # A day later it is held as before: nobody has approved it.
    web.world.let_pass(2 * DAY)
    web.bury_expired()
    assert web.delete_due() == 0
    assert web.release()
    assert web.delete_due() > 1_000

    assert not any(web.live(3 * HOUR, a_step=30))


@pytest.mark.parametrize("away_secs", [0, 2 * DAY], ids=["at once", "a janitor away for two days"])
def test_a_retention_set_too_short_by_mistake_is_held(web: Installation, away_secs: int) -> None:
    web.retain(30 * DAY)
    web.live(6 * HOUR, a_step=120, step=HOUR / 2)
    web.retain(1)
    if away_secs:
        web.world.let_pass(away_secs)
        web.ingest(20)
        # The first call of the janitor comes before the segments are tombstoned.
        assert web.delete_due() == 0
    # The same retention again, after everything has been tombstoned, confirms nothing.
    web.bury_expired()
    assert web.retain(2).segments > 1_000

    web.live(HOUR)

    assert (web.brakes(), web.stored()[1] > 1_000) == (1, True)


def test_a_confirmed_number_of_segments_goes_and_one_more_does_not(web: Installation) -> None:
    web.retain(30 * DAY)
    web.live(6 * HOUR, a_step=120, step=HOUR / 2)
    expiring = web.retain(HOUR)

    with pytest.raises(DeletesUnconfirmed) as refusal:
        web.retain(HOUR, confirmed=expiring.segments - 1)
    assert refusal.value.metadata["segments"] == str(expiring.segments)
    assert web.retain(HOUR, confirmed=expiring.segments) == Expiring()

    assert not any(web.live(3 * HOUR))
    assert web.stored()[0] == 13 * 20


def test_a_confirmation_lifts_the_brake_that_it_makes_needless(web: Installation) -> None:
    web.retain(30 * DAY)
    web.live(6 * HOUR, a_step=120, step=HOUR / 2)
    web.retain(HOUR)
    web.live(HOUR)
    assert web.brakes() == 1

    web.retain(HOUR, confirmed=10_000)

    assert web.brakes() == 0
    assert web.delete_due() > 1_000


def test_steps_that_each_delete_less_than_half_are_held_together(web: Installation) -> None:
    web.retain(30 * DAY)
    web.live(12 * HOUR, a_step=120, step=HOUR / 2)
    for hours in (7, 4, 2):
        web.retain(hours * HOUR)
        seen = web.live(STEP)

    assert not any(seen)
    assert any(web.live(HOUR))


@pytest.mark.long
def test_a_shorter_retention_that_was_not_held_is_the_baseline_after_a_day(
    web: Installation,
) -> None:
    web.retain(12 * HOUR)
    web.live(13 * HOUR, a_step=120, step=HOUR / 2)
    web.retain(7 * HOUR)
    assert not any(web.live(25 * HOUR, a_step=120, step=HOUR / 2))

    # Measured against 12 hours this would be more than half.
    web.retain(5 * HOUR)
    assert not any(web.live(3 * HOUR, a_step=120, step=HOUR / 2))


def test_a_longer_retention_holds_no_tombstone_of_the_shorter_one(web: Installation) -> None:
    web.retain(40 * MINUTE)
    web.live(3 * HOUR, a_step=40)
    web.retain(30 * DAY)

    assert not any(web.live(2 * HOUR, a_step=5))
    assert web.stored()[1] == 0
    # A day later the long retention is the baseline, and the short one a mistake.
    web.live(26 * HOUR, a_step=60, step=HOUR)
    web.retain(40 * MINUTE)
    assert any(web.live(2 * HOUR, a_step=5))


def test_tombstones_by_mistake_are_held_under_a_retention_too(web: Installation) -> None:
    web.retain(DAY)
    web.live(6 * HOUR, a_step=120, step=HOUR / 2)
    with web.world.transactions.database.write() as tx:
        rows = tx.exec_driver_sql("SELECT id FROM segments WHERE tombstone_version IS NULL")
        burial.bury(tx, list(rows.scalars()), versions.allocate(tx))

    assert any(web.live(HOUR))

    # Once the retention would have deleted them, they go.
    web.world.let_pass(DAY)
    assert web.delete_due() == 6 * 2 * 120


def test_a_retention_that_a_server_of_the_release_before_shortened_is_held(
    web: Installation,
) -> None:
    web.retain(30 * DAY)
    web.live(6 * HOUR, a_step=120, step=HOUR / 2)
    with web.world.transactions.database.write() as tx:
        tx.exec_driver_sql("UPDATE datasets SET created_retention_secs = 3600")

    assert any(web.live(2 * HOUR))
