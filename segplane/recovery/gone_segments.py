"""Live segments of a restored database whose objects are not in the bucket any more.

They were deleted after the backup (with their dataset, by its retention, or as inputs of a merge
whose output came back), or they are damage. The bucket cannot tell, so a person decides.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.errors import NotFound, NothingToRepair
from meta.store.catalog.resources import ResourceKind
from meta.store.checks import stored_objects
from meta.store.checks.stored_objects import KeySpan, StoredObject
from meta.store.damage import segment_repairs
from meta.store.damage.losses import Acceptance
from meta.store.locks import resource_locks
from meta.store.recovery import gone_segments
from meta.store.recovery.gone_segments import SegmentAtStake
from segments.inventory.listing import batches, exists, list_objects
from segments.inventory.matching import match
from segments.keys import BABIES_ROOT, DATASETS_ROOT
from segments.store.interface import ObjectStore

PAGE = 1_000
PROGRESS_EVERY = 1_000


@dataclass(frozen=True, slots=True)
class GoneSegments:
    """The live segments of one dataset whose objects are missing, and how many it has in all.

    `is_accepted` means that they were accepted as deleted, and are hidden. Those of locked datasets
    are not.
    """

    dataset_id: str
    dataset_name: str
    segments: int
    records: int
    live_segments: int
    is_accepted: bool = False
    is_locked: bool = False

    @property
    def is_whole_dataset(self) -> bool:
        """True if nothing is left of the dataset."""
        return self.segments >= self.live_segments


# Decides whether the missing segments of a dataset were deleted on purpose.
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
    locked = transactions.read(
        lambda tx: resource_locks.in_force(tx, ResourceKind.DATASET, list(map(UUID, ids)))
    )
    for dataset_id, segment_ids in sorted(ids.items()):
        live = transactions.read(partial(gone_segments.count_live, dataset_id=dataset_id))
        missing = GoneSegments(
            dataset_id,
            names[dataset_id],
            len(segment_ids),
            records[dataset_id],
            live,
            is_locked=UUID(dataset_id) in locked,
        )
        is_accepted = not missing.is_locked and decide(missing)
        if is_accepted and not is_dry_run:
            _hide(transactions, segment_ids, acceptance, progress)
        outcomes.append(replace(missing, is_accepted=is_accepted))
    return tuple(outcomes)


def _gone(transactions: Transactions, store: ObjectStore) -> Iterator[SegmentAtStake]:
    """Compare rows with the listing; the store is asked again for what the listing lacks."""
    objects = list_objects(store, DATASETS_ROOT)
    pairs = match(_rows(transactions), objects, lambda info: info.key)
    missing = (row for row, info in pairs if row is not None and row.is_needed and info is None)
    for rows in batches(missing, PAGE):
        segment_ids = [row.segment_id for row in rows if not exists(store, row.object_key)]
        if segment_ids:
            live_among = partial(gone_segments.live_among, segment_ids=segment_ids)
            yield from transactions.read(live_among)


def _rows(transactions: Transactions) -> Iterator[StoredObject]:
    span = KeySpan(through=BABIES_ROOT)
    while True:
        page = transactions.read(partial(stored_objects.read_page, span=span, most=PAGE))
        yield from page.objects
        if not page.next_after:
            return
        span = span._replace(after=page.next_after)


def _hide(
    transactions: Transactions,
    segment_ids: Sequence[UUID],
    acceptance: Acceptance,
    progress: Callable[[str], None],
) -> None:
    for count, segment_id in enumerate(segment_ids, start=1):
        # A merge or a deletion has taken it since, which settles it.
        with suppress(NothingToRepair, NotFound):
            hide = partial(segment_repairs.hide, segment_id=segment_id, acceptance=acceptance)
            transactions.write(hide)
        if count % PROGRESS_EVERY == 0:
            progress(f"{count} of {len(segment_ids)} segments are hidden")
