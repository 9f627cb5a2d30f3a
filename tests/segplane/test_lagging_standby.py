"""A standby that lagged is promoted: what it never heard of is found in the bucket again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from meta import config
from meta.client import MetaClient
from meta.process.environment import Environment
from meta.server import server
from meta.v1 import operations_pb2 as pb
from segments.keys import baby_key
from segplane.__main__ import app
from segplane.fsck import catalog_check
from tests.support.meta.standby import (
    Pair,
    both_hosts,
    catch_up,
    retried,
    running_pair,
    stop_following,
)
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery, texts


@pytest.fixture
def pair() -> Iterator[Pair]:
    with running_pair() as pair:
        yield pair


@pytest.fixture
def address(pair: Pair, tmp_path: Path) -> Iterator[str]:
    """Run a meta that follows the primary, and lets babies be reaped once they are merged."""
    (tmp_path / "objects").mkdir()
    values = {
        "META_BIND": "127.0.0.1:0",
        "META_DATABASE_URL": both_hosts(pair),
        "META_OBJECT_STORE_URL": (tmp_path / "objects").as_uri(),
        "META_UNSAFE_SHORT_GRACE": "true",
        "META_TOMBSTONE_GRACE_SECS": "0",
        "META_THREADS": "8",
    }
    running = server.start(config.load(Environment("META_", values)))
    yield f"127.0.0.1:{running.port}"
    running.stop(2.0)


@pytest.fixture
def client(address: str) -> Iterator[MetaClient]:
    with MetaClient(address) as client:
        yield client


def lag(pair: Pair) -> None:
    catch_up(pair.primary, pair.standby)
    stop_following(pair.standby)


def fail_over(pair: Pair, client: MetaClient) -> None:
    pair.fail_over()
    state = retried(lambda: client.operations.GetServerState(pb.GetServerStateRequest()))
    assert state.deletion_held


def has_baby(collector: CollectorDriver, offset: int) -> bool:
    key = baby_key(collector.stream_id, offset)
    return any(info.key == key for info in collector.store.list(key))


def deleted_offset(collector: CollectorDriver) -> int:
    info = collector.info()
    assert info is not None
    return info.deleted_offset


def parked(client: MetaClient) -> list[pb.ParkedStream]:
    return list(client.operations.ListParkedStreams(pb.ListParkedStreamsRequest()).streams)


def test_within_the_grace_idle_tails_are_adopted_and_no_baby_is_missing(
    pair: Pair, client: MetaClient
) -> None:
    """The merge is known to the standby: what is reaped was merged at least a grace before."""
    idle, merged = (CollectorDriver(client, dataset(client)) for _ in range(2))
    idle.send("a")
    merged.send("x")
    nursery(client).cycle()
    lag(pair)
    idle.send("acknowledged")
    nursery(client).cycle()
    assert deleted_offset(merged) == 0
    assert not has_baby(merged, 0)

    fail_over(pair, client)

    assert deleted_offset(merged) == -1
    assert texts(idle) == ["a"]
    # Its collector writes nothing more: the nursery commits the tail, and merges it.
    nursery(client, stream_timeout_secs=0.001).cycle()
    nursery(client).cycle()
    assert texts(idle) == ["a", "acknowledged"]
    assert texts(merged) == ["x"]
    assert parked(client) == []
    assert catalog_check.check(client, is_deep=True, orphan_age_secs=86_400).violations == []
    # Nothing is deleted until an operator has looked.
    nursery(client).cycle()
    assert has_baby(idle, 1)
    client.operations.ReleaseDeletionHold(pb.ReleaseDeletionHoldRequest())
    nursery(client).cycle()
    assert deleted_offset(merged) == 0
    assert not has_baby(idle, 1)


@pytest.mark.long
def test_beyond_the_grace_missing_babies_are_named_and_their_merge_is_registered_again(
    pair: Pair, client: MetaClient, address: str
) -> None:
    """The standby knows neither the merge nor that the babies were reaped after it."""
    collector = CollectorDriver(client, dataset(client))
    collector.send("a")
    collector.send("b")
    lag(pair)
    nursery(client).cycle()
    nursery(client).cycle()
    assert deleted_offset(collector) == 1
    assert not has_baby(collector, 0)

    fail_over(pair, client)

    assert texts(collector) == []
    nursery(client).cycle()
    (waiting,) = parked(client)
    assert (waiting.stream_id, waiting.offset) == (collector.stream_id, 0)
    found = catalog_check.check(client, is_deep=False, orphan_age_secs=0)
    assert {(v.invariant, v.subject) for v in found.violations} == {("I9", collector.stream_id)}
    environment = {"SEGPLANE_META_ADDRESS": address}
    arguments = ["fsck", "--repair", "--orphan-age-secs", "0"]
    repaired = CliRunner().invoke(app, arguments, env=environment)
    assert "registered: " in repaired.stdout, repaired.output
    assert texts(collector) == ["a", "b"]
    assert catalog_check.check(client, is_deep=True, orphan_age_secs=0).violations == []
