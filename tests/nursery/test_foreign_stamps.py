"""Records stamped with a dataset that the stream does not route to go to the quarantine."""

from uuid import UUID

import pytest
from sqlalchemy import text

from meta.store.streams.merged_offsets import PASSING_MAX
from meta.v1 import operations_pb2
from segments.baby import Baby, BabyKind, TokenPart, encode_baby
from segments.keys import baby_key
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import NOW, CollectorDriver, dataset, logs, nursery, texts

# As many as two polls have of entries that have to pass a foreign stamp.
ENTRIES = PASSING_MAX + 200


def send_foreign(collector: CollectorDriver) -> CollectorDriver:
    """Commit a baby segment with a record of a dataset to which no token of its stream routes."""
    foreign = CollectorDriver(collector.client, dataset(collector.client))
    parts = tuple(
        TokenPart(token_id, "logs", (logs(text),), dataset_id, 1, NOW, NOW)
        for token_id, dataset_id, text in (
            (collector.token_id, collector.dataset_id, "own"),
            (foreign.token_id, foreign.dataset_id, "foreign"),
        )
    )
    baby = Baby(parts, BabyKind.DATA, b"f" * 16, NOW)
    collector.store.put_if_absent(baby_key(collector.stream_id, 0), encode_baby(baby))
    collector.next_offset = 1
    collector.commit(baby)
    return foreign


def test_slices_of_a_foreign_stamp_go_to_quarantine_and_the_others_are_merged(
    collector: CollectorDriver,
) -> None:
    foreign = send_foreign(collector)
    collector.send("next")

    driver = nursery(collector.client)
    for _ in range(3):
        driver.cycle()

    assert texts(collector) == ["next", "own"]
    assert texts(collector, foreign.dataset_id) == []
    causes = [info.key for info in collector.store.list("quarantine/")]
    assert len(causes) >= 1
    assert any(b"foreign" in collector.store.get(key) for key in causes)
    request = operations_pb2.GetUsageRequest(dataset_ids=[foreign.dataset_id])
    assert collector.client.operations.GetUsage(request).usage[0].records == 0


@pytest.mark.long
def test_entries_pass_a_foreign_stamp_some_at_a_time(
    meta_server: MetaServer, collector: CollectorDriver
) -> None:
    foreign = send_foreign(collector)
    collector.send("next")
    with meta_server.running.database.write() as tx:
        tx.execute(
            text(
                "WITH made AS (INSERT INTO datasets (id, name) SELECT gen_random_uuid(), 'd' || n"
                "  FROM generate_series(1, :count) n RETURNING id, key),"
                " counted AS (INSERT INTO dataset_stats (dataset_key) SELECT key FROM made)"
                " INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset,"
                " changed_version) SELECT :stream, id, -1, -1, 0 FROM made"
            ),
            {"count": ENTRIES, "stream": UUID(collector.stream_id)},
        )
    driver = nursery(collector.client)
    behind = []
    for _ in range(4):
        driver.cycle()
        behind.append(sum(merged < 0 for merged in collector.merged().values()))

    assert 0 < behind[0] < ENTRIES
    assert behind[-1] == 0
    assert texts(collector) == ["next", "own"]
    assert texts(collector, foreign.dataset_id) == []
    quarantined = [collector.store.get(i.key) for i in collector.store.list("quarantine/")]
    assert sum(b"foreign" in body for body in quarantined) == 1


def test_a_route_that_comes_later_leaves_earlier_records_to_the_quarantine(
    collector: CollectorDriver,
) -> None:
    """Before it, one entry has passed the baby unread, and another one has not."""
    own, late = collector.dataset_id, dataset(collector.client)
    collector.route(dataset(collector.client))
    collector.route(own)
    part = TokenPart(collector.token_id, "logs", (logs("early"),), late, 1, NOW, NOW)
    baby = Baby((part,), BabyKind.DATA, b"f" * 16, NOW)
    collector.store.put_if_absent(baby_key(collector.stream_id, 0), encode_baby(baby))
    collector.next_offset = 1
    collector.commit(baby)
    collector.send("own")
    nursery(collector.client, idle_advance_secs=3600.0).cycle()
    assert texts(collector) == ["own"]
    assert list(collector.store.list("quarantine/")) == []

    collector.route(late)
    collector.send("late")
    driver = nursery(collector.client)
    for _ in range(3):
        driver.cycle()

    assert texts(collector, late) == ["late"]
    held = [info.key for info in collector.store.list("quarantine/") if "." not in info.key]
    assert [b"early" in collector.store.get(key) for key in held] == [True]
