"""Records stamped with a dataset that the stream does not route to go to the quarantine."""

from meta.v1 import operations_pb2
from segments.baby import Baby, BabyKind, TokenPart, encode_baby
from segments.keys import baby_key
from tests.support.nursery.drivers import NOW, CollectorDriver, dataset, logs, nursery, texts


def test_slices_of_a_foreign_stamp_go_to_quarantine_and_the_others_are_merged(
    collector: CollectorDriver,
) -> None:
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
