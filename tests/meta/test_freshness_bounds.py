"""Bounds of ListFreshness: what is looked at of a large backlog, and what a reply says of it."""

import pytest

from meta.store.status.freshness import BABIES_OF_ONE_MAX, LOOK_UPS_MAX, STREAMS_MAX
from meta.v1 import status_pb2 as pb
from tests.support.meta.server import MetaServer
from tests.support.meta.two_datasets import TwoDatasets

_COMMIT = """
    INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes, num_records,
      dataset_ids)
    SELECT cast(:stream AS uuid), n, 1, 2, 100, 1, {stamps}
    FROM generate_series((SELECT committed_offset FROM stream_heads WHERE stream_id = :stream) + 1,
                         (SELECT committed_offset FROM stream_heads WHERE stream_id = :stream)
                           + {count}) n
"""
_HEAD = (
    "UPDATE stream_heads SET committed_offset = committed_offset + {count}"
    " WHERE stream_id = :stream"
)
# Before the stream by their ids, each with one baby segment of app.
_STREAMS = """
    WITH made AS (
      INSERT INTO ingest_streams (id, collector_id, collector_string, shard_hash)
      SELECT ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, n::text, '', 1
      FROM generate_series(1, {}) n RETURNING id),
    heads AS (
      INSERT INTO stream_heads (stream_id, committed_offset, is_pending)
      SELECT id, 0, true FROM made),
    babies AS (
      INSERT INTO baby_segments
        (stream_id, "offset", start_ns, end_ns, size_bytes, num_records, dataset_ids)
      SELECT id, 0, 1, 2, 100, 1, ARRAY[cast(:app AS uuid)] FROM made)
    INSERT INTO stream_datasets
      (stream_id, dataset_id, merged_offset, base_offset, changed_version)
    SELECT id, cast(:app AS uuid), -1, -1, 0 FROM made
"""


@pytest.fixture
def scene(meta_server: MetaServer) -> TwoDatasets:
    """Give the stream, with one baby segment of web."""
    scene = TwoDatasets.create(meta_server)
    scene.collector.commit(scene.stream, 0, scene.web, size_bytes=100)
    return scene


def commit(scene: TwoDatasets, count: int, *dataset_ids: str) -> None:
    """Commit so many baby segments past the server."""
    listed = ", ".join(f"'{dataset_id}'" for dataset_id in dataset_ids)
    stamps = f"cast(ARRAY[{listed}] AS uuid[])" if dataset_ids else "NULL"
    scene.execute(_COMMIT.format(count=count, stamps=stamps))
    scene.execute(_HEAD.format(count=count))


def ask(scene: TwoDatasets, name: str = "") -> pb.ListFreshnessResponse:
    request = pb.ListFreshnessRequest(name=name) if name else pb.ListFreshnessRequest()
    return scene.server.client.status.ListFreshness(request)


def numbers(reply: pb.ListFreshnessResponse) -> dict[str, tuple[int, int, bool]]:
    return {
        one.dataset_name: (one.babies, one.size_bytes, one.is_at_least) for one in reply.datasets
    }


def test_a_stream_is_looked_at_up_to_the_bound_and_one_dataset_further(scene: TwoDatasets) -> None:
    commit(scene, LOOK_UPS_MAX - 1, scene.web)
    at_bound = ask(scene)

    assert numbers(at_bound) == {"web": (LOOK_UPS_MAX, 100 * LOOK_UPS_MAX, False)}
    assert at_bound.streams_cut == 0

    commit(scene, 1, scene.app)
    beyond = ask(scene)

    # The youngest were not looked at, here all of app.
    assert numbers(beyond) == {"web": (LOOK_UPS_MAX, 100 * LOOK_UPS_MAX, True)}
    assert (beyond.streams_cut, beyond.waiting_datasets) == (1, 1)
    (app,) = ask(scene, "app").datasets
    assert (app.babies, app.offset, app.is_at_least) == (1, LOOK_UPS_MAX, False)


@pytest.mark.long
def test_each_stamp_counts_towards_the_bound(scene: TwoDatasets) -> None:
    commit(scene, LOOK_UPS_MAX // 2, scene.web, scene.app)

    cut = ask(scene)

    # The first one has a single stamp, so the last one does not fit.
    assert numbers(cut) == {
        "web": (LOOK_UPS_MAX // 2, 50 * LOOK_UPS_MAX, True),
        "app": (LOOK_UPS_MAX // 2 - 1, 50 * LOOK_UPS_MAX - 100, True),
    }
    scene.nursery.merge(scene.web, scene.stream, -1, 0)
    scene.sweep()
    whole = ask(scene)
    assert numbers(whole) == {
        "web": (LOOK_UPS_MAX // 2, 50 * LOOK_UPS_MAX, False),
        "app": (LOOK_UPS_MAX // 2, 50 * LOOK_UPS_MAX, False),
    }


@pytest.mark.long
def test_entries_of_babies_without_stamps_are_looked_at_up_to_the_bound(
    scene: TwoDatasets,
) -> None:
    commit(scene, 1)
    entries = """
        INSERT INTO stream_datasets
          (stream_id, dataset_id, merged_offset, base_offset, changed_version)
        SELECT cast(:stream AS uuid), gen_random_uuid(), -1, -1, 0 FROM generate_series(1, {}) n
    """
    scene.execute(entries.format(LOOK_UPS_MAX - 3))
    assert ask(scene).streams_cut == 0

    scene.execute(entries.format(1))

    assert ask(scene).streams_cut == 1


def test_more_streams_than_the_bound_are_counted(scene: TwoDatasets) -> None:
    scene.execute(_STREAMS.format(STREAMS_MAX - 1))
    at_bound = ask(scene)
    scene.execute(
        "INSERT INTO stream_heads (stream_id, committed_offset, is_pending)"
        " VALUES ('00000000-0000-0000-0000-000000000000', 0, true)"
    )
    beyond = ask(scene)

    assert numbers(at_bound) == {
        "app": (STREAMS_MAX - 1, 100 * (STREAMS_MAX - 1), False),
        "web": (1, 100, False),
    }
    assert (at_bound.streams_cut, beyond.streams_cut) == (0, 1)
    assert numbers(beyond).keys() == {"app"}


def test_of_a_baby_with_more_stamps_than_its_share_some_are_looked_at(scene: TwoDatasets) -> None:
    scene.execute(_STREAMS.format(STREAMS_MAX - 1))
    stamp = (
        "UPDATE baby_segments SET"
        " dataset_ids = dataset_ids || array_fill(gen_random_uuid(), ARRAY[{}])"
        " WHERE stream_id = :stream"
    )
    scene.execute(stamp.format(LOOK_UPS_MAX // STREAMS_MAX - 1))
    at_bound = ask(scene)
    scene.execute(stamp.format(1))
    beyond = ask(scene)

    assert (at_bound.streams_cut, beyond.streams_cut) == (0, 1)
    assert numbers(at_bound)["web"] == (1, 100, False)
    assert numbers(beyond)["web"] == (1, 100, True)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_one_dataset_is_looked_at_up_to_its_bound(scene: TwoDatasets) -> None:
    # The search begins at the offset that the entry has merged: the one of web is looked at too.
    commit(scene, BABIES_OF_ONE_MAX - 1, scene.app)
    counted = (BABIES_OF_ONE_MAX - 1, 100 * (BABIES_OF_ONE_MAX - 1))
    assert numbers(ask(scene, "app")) == {"app": (*counted, False)}

    commit(scene, 1, scene.app)

    assert numbers(ask(scene, "app")) == {"app": (*counted, True)}
    assert ask(scene, "app").streams_cut == 1
