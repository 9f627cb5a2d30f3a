"""Streams and merged segments in the bucket that a restored database does not know."""

from functools import partial
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.store.catalog import datasets
from meta.store.deletion import orphans
from meta.store.deletion.orphans import Question
from meta.store.recovery import unknown_streams
from segments.inventory.listing import batches, exists, list_objects, stream_ids
from segments.keys import (
    BABIES_ROOT,
    DATASETS_ROOT,
    AttemptKey,
    BabyKey,
    MergedKey,
    parse_key,
)
from segments.markers import read_kept, read_markers
from segments.store.interface import ObjectStore

KEYS_AT_ONCE = 1_000


def find_streams(transactions: Transactions, store: ObjectStore) -> list[str]:
    """The streams that have a baby and no row: only their ids are kept."""
    objects = list_objects(store, BABIES_ROOT)
    ids = stream_ids(info for info in objects if isinstance(parse_key(info.key), BabyKey))
    unknown: list[str] = []
    for batch in batches(ids, KEYS_AT_ONCE):
        known_ids = transactions.read(partial(unknown_streams.known, stream_ids=batch))
        unknown += [stream_id for stream_id in batch if stream_id not in known_ids]
    return unknown


def find_segments(
    transactions: Transactions, store: ObjectStore
) -> tuple[dict[str, list[str]], list[str]]:
    """The keys of unknown merged segments by dataset, and those that markers take out.

    Objects that stay of a deleted dataset are in neither, unless the database still has the
    dataset.
    """
    by_dataset: dict[str, list[str]] = {}
    hidden: list[str] = []
    markers = read_markers(store)
    present = {new for _, new in markers.replaced if exists(store, new)}
    kept = {
        id_
        for id_ in read_kept(store)
        if transactions.read(partial(datasets.find_either, identifier=UUID(id_))) is None
    }
    keys = (info.key for info in list_objects(store, DATASETS_ROOT))
    for batch in batches(keys, KEYS_AT_ONCE):
        judge = partial(orphans.condemn, question=Question(batch), is_dry_run=True)
        for key in transactions.read(judge).unknown:
            name = parse_key(key)
            if markers.reason(key, present):
                hidden.append(key)
            elif isinstance(name, MergedKey | AttemptKey) and name.dataset_id not in kept:
                by_dataset.setdefault(name.dataset_id, []).append(key)
    return by_dataset, hidden
