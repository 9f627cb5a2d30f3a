"""Merged segments in the bucket that a restored database does not know."""

from collections.abc import Sequence
from itertools import islice
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.store.catalog import datasets
from meta.store.recovery import lost_segments
from segments.errors import ObjectMissing
from segments.keys import DATASETS_ROOT, AttemptKey, MergedKey, parse_key
from segments.markers import read_kept, read_markers
from segments.store.interface import ObjectStore

KEYS_AT_ONCE = 1_000


def find_unknown(
    transactions: Transactions, store: ObjectStore
) -> tuple[dict[str, list[str]], list[str]]:
    """The keys of unknown merged segments by dataset, and those that markers take out.

    Objects that stay of a deleted dataset are in neither, unless the database still has the
    dataset.
    """
    by_dataset: dict[str, list[str]] = {}
    hidden: list[str] = []
    markers = read_markers(store)
    present = {new for _, new in markers.replaced if _exists(store, new)}
    kept = {id_ for id_ in read_kept(store) if not _is_live(transactions, id_)}
    keys = (info.key for info in store.list(DATASETS_ROOT))
    while batch := list(islice(keys, KEYS_AT_ONCE)):
        for key in _unknown_keys(transactions, batch):
            name = parse_key(key)
            if markers.reason(key, present):
                hidden.append(key)
            elif isinstance(name, MergedKey | AttemptKey) and name.dataset_id not in kept:
                by_dataset.setdefault(name.dataset_id, []).append(key)
    return by_dataset, hidden


def _unknown_keys(transactions: Transactions, keys: Sequence[str]) -> tuple[str, ...]:
    return transactions.read(lambda tx: lost_segments.unknown_keys(tx, keys))


def _is_live(transactions: Transactions, dataset_id: str) -> bool:
    return transactions.read(lambda tx: datasets.find_either(tx, UUID(dataset_id))) is not None


def _exists(store: ObjectStore, key: str) -> bool:
    try:
        store.head(key)
    except ObjectMissing:
        return False
    return True
