"""After any history and two rollbacks, what comes back from the bucket is each record once."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from segments.inventory.contents import SegmentFound
from segments.inventory.streams import BabyFound
from segments.rebuild.lost import choose_lost
from tests.support.bucket_histories import DAYS, Held, World
from tests.support.examples import examples
from tests.support.inventories import DATASET, STREAMS

NOWHERE = dict.fromkeys(STREAMS, -1)


@dataclass
class Backup:
    """A database of before: live segments, and all that were registered or condemned."""

    live: dict[str, SegmentFound]
    registered: frozenset[str]
    condemned: frozenset[str]
    merged: dict[str, int]


def back_up(world: World, condemned: set[str]) -> Backup:
    live = {key: world.bucket[key] for key in world.live}
    return Backup(live, frozenset(world.registered), frozenset(condemned), dict(world.merged))


def acknowledged(world: World, after: dict[str, int]) -> Held:
    """The records of every baby behind some offsets."""
    return Held(
        (stream, offset, part, day)
        for stream, stamps in world.stamps.items()
        for offset, is_stamped in enumerate(stamps)
        if is_stamped and offset > after[stream]
        for part in (1, 2)
        for day in DAYS
    )


def held(world: World) -> Held:
    """The records that readers see, and those of babies that are to be merged."""
    floor = {s: max(world.merged[s], world.reaped[s]) for s in STREAMS}
    return sum((world.records[key] for key in world.live), acknowledged(world, floor))


def put_back(world: World, backup: Backup, condemned: set[str]) -> bool:
    """Go back, let a nursery merge some anew, and reconcile; False if something is left."""
    known = backup.registered | backup.condemned
    unknown = [world.bucket[key] for key in sorted(set(world.bucket) - known)]
    missing: dict[str, list[tuple[int, int]]] = {}
    for key in backup.live.keys() - world.bucket.keys():
        for span in backup.live[key].footer.ranges:
            missing.setdefault(span.stream_id, []).append((span.start, span.end))
    world.live = set(backup.live) & set(world.bucket)
    world.registered = set(backup.registered)
    world.merged = dict(backup.merged)
    if world.flip():
        world.nursery()
    present: dict[str, dict[int, BabyFound]] = {}
    for found in world.babies():
        present.setdefault(found.stream_id, {})[found.offset] = found
    live = [world.bucket[key] for key in sorted(world.live)]
    choice = choose_lost(DATASET, live, unknown, present, world.merged, missing)
    chosen = {found.key for found in choice.chosen}
    world.live = (world.live - choice.replaced_keys) | chosen
    world.registered |= chosen
    world.merged = {s: max(world.merged[s], choice.ends.get(s, -1)) for s in STREAMS}
    # Segments that are too young stay unknown.
    condemned |= {key for key in sorted(choice.held) if world.flip()}
    left = {found.key for found in unknown} - chosen - choice.held
    return not (choice.reason or left)


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_any_rollback_brings_every_record_back_once(data: st.DataObject) -> None:
    world = World(data)
    steps = [world.commit, world.nursery, world.merge, world.collect, world.reap]
    # Backups older than the grace: what was live then was merged and deleted since.
    deletion = (world.nursery, world.merge, world.collect, world.collect, world.reap)
    condemned: set[str] = set()
    for _ in range(2):
        world.commit()
        world.nursery()
        for step in data.draw(st.lists(st.sampled_from(steps), max_size=5)):
            step()
        backup = back_up(world, condemned)
        for step in data.draw(st.lists(st.sampled_from(steps), max_size=6)):
            step()
        for step in deletion if world.flip() else ():
            step()

        is_complete = put_back(world, backup, condemned)

        total = held(world)
        assert max(total.values(), default=0) <= 1
        if not is_complete:
            return
        assert total == acknowledged(world, NOWHERE)
