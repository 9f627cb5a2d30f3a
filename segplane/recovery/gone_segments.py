"""Live segments of a restored database whose objects are not in the bucket any more.

They were deleted after the backup (with their dataset, by its retention, or as inputs of a merge
whose output came back), or they are damage. The bucket cannot tell, so a person decides.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.errors import NotFound, NothingToRepair
from meta.store.checks import stored_objects
from meta.store.checks.stored_objects import StoredPage
from meta.store.damage import segment_repairs
from meta.store.damage.losses import Acceptance
from meta.store.recovery import gone_segments
from meta.store.recovery.gone_segments import SegmentAtStake
from segments.errors import ObjectMissing
from segments.keys import BABIES_ROOT, DATASETS_ROOT
from segments.store.interface import ObjectStore

PAGE = 1_000
PROGRESS_EVERY = 1_000


@dataclass(frozen=True, slots=True)
class GoneSegments:
    """The live segments of one dataset whose objects are gone, and how many it has in all.

    `is_accepted` means that they were accepted as deleted, and are hidden.
    """

    dataset_id: str
    dataset_name: str
    segments: int
    records: int
    live_segments: int
    is_accepted: bool = False

    @property
    def is_whole_dataset(self) -> bool:
        """True if nothing is left of the dataset."""
        return self.segments >= self.live_segments


# Decides whether the gone segments of a dataset were deleted on purpose.
Decision = Callable[[GoneSegments], bool]


def settle_gone(
    transactions: Transactions,
    store: ObjectStore,
    *,
    decide: Decision,
    acceptance: Acceptance,
    is_dry_run: bool,
    progress: Callable[[str], None],
) -> tuple[GoneSegments, ...]:
    """Find them, and hide those of each dataset that were deleted on purpose.

    A hidden segment is in the loss ledger, and `segments replace` brings it back from a copy. One
    transaction for each segment. Raises MetaError, StoreError.
    """
    ids: dict[str, list[UUID]] = {}
    names: dict[str, str] = {}
    records: Counter[str] = Counter()
    for segment in _gone(transactions, store):
        ids.setdefault(segment.dataset_id, []).append(segment.id)
        names[segment.dataset_id] = segment.dataset_name
        records[segment.dataset_id] += segment.records
    outcomes: list[GoneSegments] = []
    for dataset_id, own in sorted(ids.items()):
        live = _count_live(transactions, dataset_id)
        gone = GoneSegments(dataset_id, names[dataset_id], len(own), records[dataset_id], live)
        is_accepted = decide(gone)
        if is_accepted and not is_dry_run:
            _hide(transactions, own, acceptance, progress)
        outcomes.append(replace(gone, is_accepted=is_accepted))
    return tuple(outcomes)


def _gone(transactions: Transactions, store: ObjectStore) -> Iterator[SegmentAtStake]:
    """Compare rows with the listing, in key order; a page of rows is read before its objects."""
    after = ""
    while after < BABIES_ROOT:
        page = _page(transactions, after)
        ids = {stored.object_key: stored.segment_id for stored in page.objects}
        if ids:
            last = page.objects[-1].object_key
            for info in store.list(DATASETS_ROOT, after):
                if info.key > last:
                    break
                ids.pop(info.key, None)
        gone = [segment_id for key, segment_id in ids.items() if not _exists(store, key)]
        if gone:
            yield from _live_among(transactions, gone)
        after = page.next_after


def _hide(
    transactions: Transactions,
    segment_ids: Sequence[UUID],
    acceptance: Acceptance,
    progress: Callable[[str], None],
) -> None:
    for count, segment_id in enumerate(segment_ids, start=1):
        # A merge or a deletion has taken it since, which settles it.
        with suppress(NothingToRepair, NotFound):
            _hide_one(transactions, segment_id, acceptance)
        if count % PROGRESS_EVERY == 0:
            progress(f"{count} of {len(segment_ids)} segments are hidden")


def _hide_one(transactions: Transactions, segment_id: UUID, acceptance: Acceptance) -> None:
    transactions.write(lambda tx: segment_repairs.hide(tx, segment_id, acceptance))


def _page(transactions: Transactions, after: str) -> StoredPage:
    return transactions.read(lambda tx: stored_objects.read_page(tx, after, 0, PAGE))


def _live_among(transactions: Transactions, segment_ids: Sequence[str]) -> list[SegmentAtStake]:
    return transactions.read(lambda tx: gone_segments.live_among(tx, segment_ids))


def _count_live(transactions: Transactions, dataset_id: str) -> int:
    return transactions.read(lambda tx: gone_segments.count_live(tx, dataset_id))


def _exists(store: ObjectStore, key: str) -> bool:
    try:
        store.head(key)
    except ObjectMissing:
        return False
    return True
