"""Datasets with returned rows whose events have no identity: identities are not in the bucket."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.store.catalog import datasets
from segplane.recovery.returned_streams import Planned


@dataclass(frozen=True, slots=True)
class UnclaimedIdentities:
    """A dataset that has each event once by a column, or had so if the setting is not there."""

    dataset_id: str
    dataset_name: str
    column: str
    is_set: bool


def find_unclaimed(
    transactions: Transactions, returning: Iterable[Planned]
) -> tuple[UnclaimedIdentities, ...]:
    """Find the datasets whose restored rows have no stored identities.

    Each has an event identity, or had one.
    """
    unclaimed = (_of(transactions, dataset) for dataset in returning)
    return tuple(filter(None, unclaimed))


def _of(transactions: Transactions, planned: Planned) -> UnclaimedIdentities | None:
    id_, footers = planned.dataset_id, (segment.footer for segment in planned.choice.chosen)
    column = next((f.event_identity for f in footers if f.event_identity), "")
    dataset = transactions.read(lambda tx: datasets.find_either(tx, UUID(id_)))
    if dataset is not None and dataset.identity_column:
        return UnclaimedIdentities(id_, dataset.name, dataset.identity_column, is_set=True)
    name = f"reconciled-{id_}" if dataset is None else dataset.name
    return UnclaimedIdentities(id_, name, column, is_set=False) if column else None
