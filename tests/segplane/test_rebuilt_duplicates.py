"""A rebuild from the bucket brings no event back that a registration skipped as a duplicate."""

from typing import Any

from segplane.recovery.rebuild import read_plan
from tests.support.events_once import more_streams, orders, shard
from tests.support.nursery.drivers import CollectorDriver, nursery, run_here
from tests.support.visible_segments import find, key_of, texts


def test_a_rebuild_finds_no_segment_of_a_move_that_had_repeats_alone(
    collector: CollectorDriver,
) -> None:
    """Its refused segment had rows, and no registered one of the same babies takes its place."""
    client, own = collector.client, shard(collector)
    other = next(stream for stream in more_streams(collector) if shard(stream) != own)
    collector.commit(collector.put(payloads=(orders("a", "b", text=" slow"),)))
    other.commit(other.put(payloads=(orders("a", "b", text=" fast"),)))

    def overtaken(tasks: Any, where: Any) -> list[Any]:
        outcomes = run_here(tasks, where)
        nursery(client, shard=(1 - own, 2)).cycle()
        return outcomes

    nursery(client, overtaken, shard=(own, 2)).cycle()

    assert texts(client, collector.store) == ["a fast", "b fast"]
    rebuilt = read_plan(collector.store).segments
    assert {live.key for live in rebuilt} == {key_of(segment) for segment in find(client)}
