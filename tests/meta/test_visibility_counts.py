"""Counts of flushes by the time that they took to be visible, and their percentiles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from meta.store.status import visibility_counts
from meta.store.status.visibility_counts import BOUNDS, DATASETS_MAX, MOVES_MAX, STAYS_UP_TO_RANK
from meta.v1 import status_pb2 as pb
from tests.support.meta.server import MetaServer
from tests.support.meta.two_datasets import TwoDatasets

SECOND = 10**9


@pytest.fixture
def scene(meta_server: MetaServer) -> TwoDatasets:
    """Give the stream; its datasets are measured from the start on, though they are empty."""
    made = TwoDatasets.create(meta_server)
    for dataset in (made.web, made.app):
        made.execute(f"INSERT INTO measured_datasets VALUES ('{dataset}', 0)")  # noqa: S608
    return made


def run_round(scene: TwoDatasets) -> None:
    with scene.server.running.database.write() as tx:
        visibility_counts.count(tx)


def commit_late(scene: TwoDatasets, ages: dict[int, float]) -> None:
    """Commit flushes of web that will be as old as this when they become visible."""
    for offset, seconds in ages.items():
        scene.collector.commit(scene.stream, offset, scene.web)
        scene.execute(
            f"UPDATE baby_segments SET committed_at = now() - interval '{seconds} s'"  # noqa: S608
            f' WHERE "offset" = {offset}'
        )


def times(scene: TwoDatasets, name: str = "web") -> pb.DatasetFreshness:
    request = pb.ListFreshnessRequest(name=name)
    (dataset,) = scene.server.client.status.ListFreshness(request).datasets
    return dataset


def test_the_flushes_of_the_last_hour_have_percentiles(scene: TwoDatasets) -> None:
    commit_late(scene, dict.fromkeys(range(9), 3.0) | {9: 100.0})
    scene.nursery.merge(scene.web, scene.stream, -1, 9)
    run_round(scene)

    web = times(scene)

    assert web.flushes == 10
    assert 2.8 * SECOND <= web.p50_nanos <= 4 * SECOND
    assert 90 * SECOND <= web.p99_nanos <= 128 * SECOND
    assert (times(scene, "app").flushes, times(scene, "app").p99_nanos) == (0, 0)


def test_a_flush_is_counted_once_and_of_its_datasets_alone(scene: TwoDatasets) -> None:
    commit_late(scene, {0: 1.0, 1: 1.0})
    scene.nursery.merge(scene.web, scene.stream, -1, 0)
    run_round(scene)
    run_round(scene)
    assert times(scene).flushes == 1

    scene.nursery.merge(scene.web, scene.stream, 0, 1)
    # Both flushes are of web: no segment of app became visible.
    scene.nursery.register(scene.app, (scene.stream, -1, 1))
    run_round(scene)

    assert times(scene).flushes == 2
    assert times(scene, "app").flushes == 0


def test_a_round_looks_at_the_newest_registrations_up_to_its_bound(scene: TwoDatasets) -> None:
    commit_late(scene, dict.fromkeys(range(MOVES_MAX + 1), 1.0))
    for offset in range(MOVES_MAX + 1):
        scene.nursery.merge(scene.web, scene.stream, offset - 1, offset)

    run_round(scene)
    assert times(scene).flushes == MOVES_MAX

    # The one that was skipped is not counted later.
    run_round(scene)
    assert times(scene).flushes == MOVES_MAX


def test_counts_are_kept_for_26_hours_and_shown_for_one(scene: TwoDatasets) -> None:
    commit_late(scene, {0: 1.0})
    scene.nursery.merge(scene.web, scene.stream, -1, 0)
    run_round(scene)
    scene.execute("UPDATE visibility_counts SET period_at = period_at - interval '25 hours'")
    run_round(scene)

    assert times(scene).flushes == 0
    assert scene.count("SELECT count(*) FROM visibility_counts") == 1
    scene.execute("UPDATE visibility_counts SET period_at = period_at - interval '2 hours'")
    run_round(scene)
    assert scene.count("SELECT count(*) FROM visibility_counts") == 0


def test_the_datasets_with_most_bytes_are_measured_and_stay_for_a_while(
    scene: TwoDatasets,
) -> None:
    number = STAYS_UP_TO_RANK + 10
    scene.execute(
        "INSERT INTO datasets (id, name)"  # noqa: S608
        f" SELECT gen_random_uuid(), 'd' || n FROM generate_series(1, {number}) n"
    )
    _give_bytes(scene, "substr(d.name, 2)::int")
    first = _choose(scene)
    assert first == {f"d{n}" for n in range(number - DATASETS_MAX + 1, number + 1)}

    # Ten that were too small have most now: those that they passed stay, up to the bound.
    _give_bytes(scene, "substr(d.name, 2)::int + 1000 * (substr(d.name, 2)::int <= 10)::int")
    assert _choose(scene) == first

    _give_bytes(scene, "substr(d.name, 2)::int + 1000 * (substr(d.name, 2)::int <= 30)::int")
    last = _choose(scene)
    assert len(last) == DATASETS_MAX
    assert last & {f"d{n}" for n in range(1, 31)}


def _give_bytes(scene: TwoDatasets, size: str) -> None:
    scene.execute(
        "INSERT INTO dataset_stats AS s (dataset_key, live_segments, live_compressed_size_bytes)"  # noqa: S608
        f" SELECT d.key, 1, {size} FROM datasets d WHERE d.name LIKE 'd_%' AND d.name <> 'default'"
        " ON CONFLICT (dataset_key) DO UPDATE"
        " SET live_compressed_size_bytes = excluded.live_compressed_size_bytes"
    )


def _choose(scene: TwoDatasets) -> set[str]:
    with scene.server.running.database.write() as tx:
        visibility_counts.choose(tx)
        names = "SELECT d.name FROM measured_datasets m JOIN datasets d ON d.id = m.dataset_id"
        return set(tx.execute(text(names)).scalars())


@given(st.lists(st.floats(0.0, 100_000.0), min_size=1, max_size=200))
def test_a_percentile_is_in_the_bucket_of_the_exact_one(seconds: list[float]) -> None:
    counts: dict[int, int] = {}
    for each in sorted(seconds):
        bucket = sum(bound <= each for bound in BOUNDS)
        counts[bucket] = counts.get(bucket, 0) + 1

    measured = visibility_counts.times_of(counts)

    assert measured.flushes == len(seconds)
    assert measured.p50_nanos <= measured.p99_nanos
    for nanos, share in ((measured.p50_nanos, 0.5), (measured.p99_nanos, 0.99)):
        exact = sorted(seconds)[max(0, -int(-share * len(seconds) // 1) - 1)]
        bucket = sum(bound <= exact for bound in BOUNDS)
        low = BOUNDS[bucket - 1] if bucket else 0.0
        high = BOUNDS[min(bucket, len(BOUNDS) - 1)]
        assert low - 1e-6 <= nanos / 1e9 <= high + 1e-6
