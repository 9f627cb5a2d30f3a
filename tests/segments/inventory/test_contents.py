"""Facts of baby segments that a rebuild and a reconciliation read from their stamps."""

from segments.baby import Baby, encode_baby
from segments.inventory.contents import READS_AHEAD, baby_found, read_babies, read_each
from segments.keys import baby_key, baby_prefix
from segments.store.interface import ObjectInfo, ObjectStore
from tests.support.babies import part
from tests.support.inventories import DATASET, STREAM, STREAMS

INFO = ObjectInfo(baby_key(STREAM, 4), 1_000, 7)


def test_a_stamped_baby_counts_its_records_for_the_datasets_of_its_stamps() -> None:
    own, foreign = part(n=3)._replace(dataset_id=DATASET), part(n=2)

    baby = baby_found(INFO, Baby((own, foreign), flush_id=b"f" * 16))

    assert (baby.stream_id, baby.offset) == (STREAM, 4)
    assert (baby.dataset_ids, baby.num_records) == (frozenset({DATASET}), 5)


def test_a_baby_without_stamps_may_be_of_any_dataset_and_is_not_empty() -> None:
    for baby in (Baby((part(),), is_stamped=False), None):
        facts = baby_found(INFO, baby)

        assert (facts.dataset_ids, facts.num_records, facts.is_stop) == (None, 1, False)


def test_the_babies_of_a_stream_are_read_in_order_and_other_names_are_skipped(
    several_stores: ObjectStore,
) -> None:
    for offset in range(READS_AHEAD + 3):
        baby = Baby((part(n=offset % 7 + 1)._replace(dataset_id=DATASET),), flush_id=b"f" * 16)
        several_stores.put_if_absent(baby_key(STREAM, offset), encode_baby(baby))
    several_stores.put_if_absent(f"{baby_key(STREAM, 1)}.tmp", b"somebody's")
    several_stores.put_if_absent(f"{baby_prefix(STREAM)}readme", b"somebody's")
    several_stores.put_if_absent(baby_key(STREAMS[1], 0), b"of another stream")

    found = [(facts.offset, facts.num_records) for facts, _ in read_babies(several_stores, STREAM)]
    damaged = list(read_babies(several_stores, STREAMS[1]))

    assert found == [(offset, offset % 7 + 1) for offset in range(READS_AHEAD + 3)]
    assert [(facts.dataset_ids, baby) for facts, baby in damaged] == [(None, None)]


def test_objects_are_read_in_order_and_not_far_ahead() -> None:
    numbers = iter(range(10 * READS_AHEAD))

    results = read_each(lambda number: number * 2, numbers)

    assert [next(results) for _ in range(3)] == [0, 2, 4]
    assert next(numbers) <= READS_AHEAD
