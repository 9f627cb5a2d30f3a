"""Facts of baby segments that a rebuild reads from their stamps."""

from segments.baby import Baby
from segments.keys import baby_key
from segments.rebuild.inventory import baby_found
from segments.store.interface import ObjectInfo
from tests.support.babies import part
from tests.support.inventories import DATASET, STREAM

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
