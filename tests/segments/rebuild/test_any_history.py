"""A rebuild after any history of merges and deletions keeps every record once."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.bucket_histories import DAYS, Held, World
from tests.support.examples import examples
from tests.support.inventories import STREAMS, live_of, planned


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_any_history_comes_back_with_every_record_once(data: st.DataObject) -> None:
    world = World(data)
    steps = (world.commit, world.nursery, world.merge, world.collect, world.reap)
    world.commit()
    for step in data.draw(st.lists(st.sampled_from(steps), max_size=14)):
        step()

    rebuilt = planned(list(world.bucket.values()), world.babies())

    offsets = {s.stream_id: {e.merged_offset for e in s.entries} for s in rebuilt.streams}
    tops = {s: max(offsets.get(s, set()), default=-1) for s in STREAMS}
    visible = sum((world.records[key] for key in live_of(rebuilt)), Held())
    assert visible == Held(
        (stream, offset, part, day)
        for stream, stamps in world.stamps.items()
        for offset, is_stamped in enumerate(stamps[: tops[stream] + 1])
        if is_stamped
        for part in (1, 2)
        for day in DAYS
    )
    # What was registered is seen, or its babies are there and are merged again: where a batch that
    # was written in full and never registered overlaps it, the bucket does not tell them apart.
    registered = sum((world.records[key] for key in world.live), Held())
    assert all(offset > world.reaped[stream] for stream, offset, *_ in registered - visible)
    assert not rebuilt.warnings
