"""Datasets with returned rows whose events have no key: the bucket has no deduplication keys."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.store.catalog import datasets
from segplane.recovery.returned_streams import Planned


@dataclass(frozen=True, slots=True)
class UnclaimedKeys:
    """A dataset that is deduplicated by a column, or had so if the setting is not there."""

    dataset_id: str
    dataset_name: str
    column: str
    is_set: bool


def find_unclaimed(
    transactions: Transactions, returning: Iterable[Planned]
) -> tuple[UnclaimedKeys, ...]:
    """Find the datasets whose restored rows have no stored deduplication keys.

    Each has an deduplication key, or had one.
    """
    unclaimed = (_of(transactions, dataset) for dataset in returning)
    return tuple(filter(None, unclaimed))


def _of(transactions: Transactions, planned: Planned) -> UnclaimedKeys | None:
    id_, footers = planned.dataset_id, (segment.footer for segment in planned.choice.chosen)
    column = next((f.deduplication for f in footers if f.deduplication), "")
    dataset = transactions.read(lambda tx: datasets.find_either(tx, UUID(id_)))
    if dataset is not None and dataset.deduplication_column:
        return UnclaimedKeys(id_, dataset.name, dataset.deduplication_column, is_set=True)
    name = f"reconciled-{id_}" if dataset is None else dataset.name
    return UnclaimedKeys(id_, name, column, is_set=False) if column else None
