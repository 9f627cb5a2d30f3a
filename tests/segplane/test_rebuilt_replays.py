"""A nursery that died, then the quarantine, a replay and a rebuild: no record is a row twice."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from meta.config import Settings
from segplane.recovery.rebuild import read_plan
from tests.segplane.test_rebuilt_quarantine import (
    Rebuilt,
    Stack,
    begin,
    fill,
    layout,
    rebuilt,
    replay,
    running,
)
from tests.support.merge_worker.local_merges import merge_all
from tests.support.nursery.drivers import CollectorDriver, nursery, write_and_fail
from tests.support.schema_violations import NULL, QUARANTINE, choose, correct, listed, seen, send
from tests.support.visible_segments import find, key_of

__all__ = ["rebuilt"]


@contextmanager
def replayed(
    meta_settings: Settings, *babies: tuple[str | int, ...]
) -> Iterator[tuple[Stack, CollectorDriver]]:
    """Replay what the registered nursery quarantined and the dead one before wrote as rows."""
    with running(meta_settings) as stack:
        collector, schema = begin(stack)
        choose(stack.client, collector.dataset_id, NULL)
        for prices in babies:
            send(collector, *prices)
        nursery(stack.client, write_and_fail).cycle()
        choose(stack.client, collector.dataset_id, QUARANTINE)
        nursery(stack.client).cycle()
        correct(stack.client, schema)
        done = replay(stack)
        assert done.exit_code == 0, done.output
        yield stack, collector


@pytest.mark.parametrize(
    "babies",
    [(("two",),), (("two",), (3,)), ((1, "two", 3),), ((0,), (1, "two"), (3,))],
    ids=["alone", "beside another baby", "beside rows of the baby", "between babies"],
)
def test_rows_of_a_dead_nursery_are_skipped_where_a_replay_has_them(
    meta_settings: Settings, rebuilt: Rebuilt, babies: tuple[tuple[str | int, ...], ...]
) -> None:
    with replayed(meta_settings, *babies) as (_, collector):
        read = seen(collector)
        assert len(read) == sum(map(len, babies))

    with rebuilt(collector) as stack:
        nursery(stack.client).cycle()

        assert seen(collector) == read
        assert listed(stack.run) == []


@pytest.mark.long
def test_rows_of_a_dead_nursery_are_skipped_where_a_replay_was_merged(
    meta_settings: Settings, rebuilt: Rebuilt, tmp_path: Path
) -> None:
    with replayed(meta_settings, ("two",), (3,)) as (stack, collector):
        fill(collector, 14)
        merged = merge_all(stack.client, collector.store, tmp_path, layout(collector))
        assert merged == 1
        read, keys = seen(collector), {key_of(segment) for segment in find(stack.client)}

    assert {item.key for item in read_plan(collector.store).segments} == keys
    with rebuilt(collector) as stack:
        assert seen(collector) == read
