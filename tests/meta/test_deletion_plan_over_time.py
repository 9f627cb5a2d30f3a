"""Plans of deletion against time: what a plan names for an hour is what is deleted within it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from meta import config
from meta.store.deletion import dataset_deletion, deletion_plans, retention, tombstones
from meta.store.deletion.deletion_plan_statement import DeletionCause, DeletionObstacle
from meta.store.deletion.deletion_plans import DeletionPlan, DeletionScope
from tests.support.meta.settable_clock import World, observed_world

MINUTE, HOUR, DAY = 60, 3_600, 86_400
GRACE, DATASET_GRACE = 2_100.0, 7.0 * DAY
# Before the middle of an hour, so that the steps of a sweep and of a janitor do not leave it.
MIDDLE = 20 * MINUTE
STEP = 5 * MINUTE
_DATASET = """
    WITH made AS (
      INSERT INTO datasets (id, name, created_retention_secs, event_retention_secs)
      VALUES (gen_random_uuid(), %(name)s, %(created)s, %(event)s) RETURNING key)
    INSERT INTO dataset_stats (dataset_key) SELECT key FROM made RETURNING dataset_key
"""
_SEGMENT = """
    INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version, created_at,
      tombstone_version, tombstone_at, size_bytes, compressed_size_bytes, number_of_events, prefix,
      object_name)
    SELECT gen_random_uuid(), %(key)s, 6, t.ns, t.ns, 1,
      clock.now() - make_interval(secs => %(created_ago)s),
      CASE WHEN %(buried_ago)s >= 0 THEN 2 END,
      CASE WHEN %(buried_ago)s >= 0 THEN clock.now() - make_interval(secs => %(buried_ago)s) END,
      5, %(size)s, 10, 'dataset', gen_random_uuid()::text
    FROM (SELECT cast(extract(epoch FROM clock.now()) - %(ended_ago)s AS bigint)
      * 1000000000) t (ns)
    RETURNING id
"""
_COUNT = """
    UPDATE dataset_stats SET live_segments = live_segments + 1,
      live_compressed_size_bytes = live_compressed_size_bytes + %(size)s
    WHERE dataset_key = %(key)s
"""


@dataclass
class Rows:
    """A database with a clock and segments of any age."""

    world: World

    def dataset(self, name: str, created: int | None = None, event: int | None = None) -> int:
        with self.world.transactions.database.write() as tx:
            values = {"name": name, "created": created, "event": event}
            return int(tx.exec_driver_sql(_DATASET, values).scalar_one())

    def segment(
        self,
        key: int,
        *,
        created_ago: float = 0,
        ended_ago: float = 0,
        buried_ago: float = -1,
        size: int = 1_000,
        is_merged: bool = False,
    ) -> None:
        values = {
            "key": key,
            "created_ago": created_ago,
            "ended_ago": ended_ago,
            "buried_ago": buried_ago,
            "size": size,
        }
        with self.world.transactions.database.write() as tx:
            made = tx.exec_driver_sql(_SEGMENT, values).scalar_one()
            if buried_ago < 0:
                tx.exec_driver_sql(_COUNT, values)
            if is_merged:
                lineage = "INSERT INTO segment_lineage VALUES (%(id)s, gen_random_uuid())"
                tx.exec_driver_sql(lineage, {"id": made})

    def run(self, statement: str, **values: Any) -> None:
        with self.world.transactions.database.write() as tx:
            tx.exec_driver_sql(statement, values)

    def plan(self, key: int | None = None, most: int = 1_000) -> DeletionPlan:
        with self.world.transactions.database.read() as tx:
            return deletion_plans.make(tx, DeletionScope(key, GRACE, DATASET_GRACE, most))

    def delete(self) -> Counter[str]:
        """Do what the sweeps and a janitor do; returns the deleted segments by dataset."""
        write = self.world.transactions.write
        while write(retention.bury_expired) or write(
            lambda tx: dataset_deletion.purge(tx, DATASET_GRACE)
        ):
            pass
        deleted: Counter[str] = Counter()
        while due := write(lambda tx: tombstones.hand_out(tx, grace_secs=GRACE, most=1_000)):
            ids = [segment.segment_id for segment in due]
            with self.world.transactions.database.write() as tx:
                names = tx.exec_driver_sql(
                    "SELECT d.name FROM segments s JOIN datasets d ON d.key = s.dataset_key"
                    " WHERE s.id = ANY(%(ids)s)",
                    {"ids": ids},
                ).scalars()
                deleted.update(names)
                tombstones.confirm(tx, ids, grace_secs=GRACE)
        return deleted

    def deletions(self, hours: int) -> Counter[tuple[int, str]]:
        """Let hours pass; returns the deleted segments by hour, 0 = at once, and dataset."""
        seen = Counter({(0, name): number for name, number in self.delete().items()})
        for step in range(hours * HOUR // STEP):
            self.world.let_pass(STEP)
            for name, number in self.delete().items():
                seen[step * STEP // HOUR + 1, name] += number
        return seen


@pytest.fixture
def rows(meta_settings: config.Settings, database_url: str) -> Iterator[Rows]:
    """Give an empty database with a clock."""
    with observed_world(meta_settings, database_url) as world:
        made = Rows(world)
        # Behind the versions of the segments.
        made.run("UPDATE meta_state SET version = 10")
        yield made


def planned(plan: DeletionPlan) -> Counter[tuple[int, str]]:
    """Count the planned segments by hour and dataset."""
    return sum(
        (Counter({(row.hour, row.dataset_name): row.segments}) for row in plan.planned),
        Counter[tuple[int, str]](),
    )


def fill(rows: Rows) -> None:
    """Make segments that fall due for each reason, at once and in some hours."""
    created, event = (
        rows.dataset("created", created=15 * HOUR),
        rows.dataset("event", event=13 * HOUR),
    )
    both = rows.dataset("both", created=14 * HOUR, event=16 * HOUR)
    merged, deleted = rows.dataset("merged"), rows.dataset("deleted")
    for hour in (-3, 0, 1, 4, 4, 7):
        # In so many hours and a part of one, a negative number of which are over.
        ahead = hour * HOUR + MIDDLE
        rows.segment(created, created_ago=15 * HOUR + GRACE - ahead)
        rows.segment(event, ended_ago=13 * HOUR + GRACE - ahead)
        rows.segment(both, created_ago=14 * HOUR + GRACE - ahead, ended_ago=0)
        rows.segment(both, created_ago=0, ended_ago=14 * HOUR + GRACE - ahead)
        if ahead < GRACE:
            rows.segment(merged, buried_ago=GRACE - ahead, is_merged=True)
            rows.segment(merged, buried_ago=GRACE - ahead)
    for _ in range(3):
        rows.segment(deleted)
    rows.run(
        "UPDATE datasets SET deleted_at = clock.now() - make_interval(secs => %(secs)s)"
        " WHERE key = %(key)s",
        secs=DATASET_GRACE + GRACE - 5 * HOUR - MIDDLE,
        key=deleted,
    )


@pytest.mark.parametrize("gap_secs", [0, 2 * HOUR], ids=["no gap", "a gap of the clock"])
def test_what_is_planned_for_an_hour_is_deleted_within_it(rows: Rows, gap_secs: float) -> None:
    fill(rows)
    rows.world.step(gap_secs)
    plan = rows.plan()

    deleted = rows.deletions(12)

    assert planned(plan) == deleted
    assert plan.waiting == []
    # Each reason and the hours at both ends.
    assert {row.cause for row in plan.planned} == {
        DeletionCause.CREATED_RETENTION,
        DeletionCause.EVENT_RETENTION,
        DeletionCause.REPLACED,
        DeletionCause.EXPIRED,
        DeletionCause.DELETED_DATASET,
    }
    assert {row.hour for row in plan.planned} >= {0, 1, 2, 5, 6, 8}
    assert rows.plan().planned == []


@pytest.mark.parametrize(("behind_secs", "hour"), [(1, 168), (-1, 169)], ids=["at", "beyond"])
def test_a_week_is_told_by_hours_and_what_is_behind_it_as_later(
    rows: Rows, behind_secs: int, hour: int
) -> None:
    at = 168 * HOUR - GRACE - behind_secs
    created = rows.dataset("created", created=30 * DAY)
    event = rows.dataset("event", event=20 * DAY)
    rows.segment(created, created_ago=30 * DAY - at, size=3)
    rows.segment(event, ended_ago=20 * DAY - at, size=4)
    both = rows.dataset("both", created=60 * DAY, event=60 * DAY)
    rows.segment(both, size=5)
    plan = rows.plan()

    rows.world.let_pass(at + 1)
    tombstoned = rows.delete()
    rows.world.let_pass(GRACE + 1)

    assert planned(plan) == {(hour, "created"): 1, (hour, "event"): 1, (169, "both"): 1}
    assert (plan.within_week.size_bytes, plan.later.size_bytes) == (
        (7, 5) if hour == 168 else (0, 12)
    )
    assert not tombstoned
    assert rows.delete() == {"created": 1, "event": 1}


def test_a_pin_holds_until_its_lease_ends(rows: Rows) -> None:
    web = rows.dataset("web")
    for hour in (-1, 0, 0):
        rows.segment(web, buried_ago=GRACE - hour * HOUR - MIDDLE, is_merged=True)
    for secs in (2 * HOUR + MIDDLE, HOUR):
        rows.run(
            "INSERT INTO pins (id, owner, dataset_key, version, expires_at, ends_at, held_segments,"
            " held_bytes) SELECT gen_random_uuid(), %(owner)s, %(key)s, 1, at, at, 0, 0"
            " FROM (SELECT clock.now() + make_interval(secs => %(secs)s)) t (at)",
            owner=f"reader for {secs}",
            key=web,
            secs=secs,
        )
    plan = rows.plan()

    deleted = rows.deletions(4)

    (waiting,) = plan.waiting
    assert (waiting.obstacle, waiting.segments) == (DeletionObstacle.PIN, 3)
    assert waiting.holder == f"reader for {2 * HOUR + MIDDLE}"
    assert deleted == {(3, "web"): 3}
    assert plan.planned == []


@pytest.mark.long
def test_a_lock_that_ends_holds_what_falls_due_until_a_day_after_it(rows: Rows) -> None:
    web = rows.dataset("web", created=5 * HOUR)
    for hour in (0, 3, 27, 30):
        ahead = hour * HOUR + MIDDLE
        rows.segment(web, created_ago=5 * HOUR + GRACE - ahead)
    rows.segment(web, buried_ago=GRACE - MIDDLE)
    rows.segment(web, buried_ago=GRACE - MIDDLE, is_merged=True)
    rows.run("UPDATE datasets SET hold_ends_at = clock.now() + interval '2 hours 10 minutes'")
    plan = rows.plan()

    deleted = rows.deletions(34)

    (waiting,) = plan.waiting
    assert (waiting.obstacle, waiting.segments) == (DeletionObstacle.LOCK, 3)
    # The tombstone goes with the end; the live ones are tombstoned then.
    assert deleted == {(1, "web"): 1, (27, "web"): 3, (28, "web"): 1, (31, "web"): 1}
    assert planned(plan) == {(1, "web"): 1, (28, "web"): 1, (31, "web"): 1}


def test_a_brake_holds_what_the_baseline_keeps_live_segments_too(rows: Rows) -> None:
    for name, baseline in (("held", 30 * DAY), ("expected", 5 * HOUR)):
        key = rows.dataset(name, created=5 * HOUR)
        rows.segment(key, created_ago=5 * HOUR + GRACE - HOUR - MIDDLE)
        rows.segment(key, created_ago=5 * HOUR + GRACE - MIDDLE, buried_ago=GRACE - MIDDLE)
        rows.run(
            "INSERT INTO deletion_brakes (dataset_key, braked_at, segments, size_bytes,"
            " live_size_bytes) VALUES (%(key)s, clock.now(), 1, 1, 1)",
            key=key,
        )
        rows.run(
            "INSERT INTO retention_baselines (dataset_key, created_secs)"
            " VALUES (%(key)s, %(secs)s)",
            key=key,
            secs=baseline,
        )
    plan = rows.plan()

    deleted = rows.deletions(4)

    (waiting,) = plan.waiting
    assert (waiting.obstacle, waiting.dataset_name) == (DeletionObstacle.BRAKE, "held")
    assert waiting.segments == 2
    assert planned(plan) == deleted == {(1, "expected"): 1, (2, "expected"): 1}
