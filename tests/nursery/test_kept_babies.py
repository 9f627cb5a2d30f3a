"""Nurseries leave baby segments that a backup keeps, and reap their streams past them."""

from segments.keys import BabyKey, baby_prefix, parse_key
from tests.support.meta.kept_backups import BackupDriver
from tests.support.nursery.drivers import CollectorDriver, nursery, texts


def stored_offsets(collector: CollectorDriver) -> list[int]:
    """Offsets of the stream's baby segments in the bucket."""
    listed = collector.store.list(baby_prefix(collector.stream_id))
    names = [parse_key(each.key) for each in listed]
    return [name.offset for name in names if isinstance(name, BabyKey)]


def test_a_kept_baby_segment_stays_and_those_around_it_are_deleted(
    collector: CollectorDriver,
) -> None:
    driver = nursery(collector.client)
    collector.send("merged")
    driver.cycle()
    collector.send("waiting")
    collector.send("waiting too")
    BackupDriver(collector.client).create()

    driver.cycle()
    collector.send("later")
    driver.cycle()
    driver.cycle()

    info = collector.info()
    assert info is not None
    assert info.deleted_offset == 3
    assert stored_offsets(collector) == [1, 2]
    assert sorted(texts(collector)) == ["later", "merged", "waiting", "waiting too"]
