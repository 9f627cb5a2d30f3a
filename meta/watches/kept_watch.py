"""Deleted datasets whose objects stay: each is noted in the bucket, then its rows are forgotten."""

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import Unavailable
from meta.process import Shutdown
from meta.store.deletion import kept_files
from meta.store.deletion.kept_files import KeptDataset
from segments.errors import StoreError
from segments.markers import mark_kept
from segments.store.open import open_store

PAUSE_SECS = 60.0


class KeptWatch:
    """One server's rounds; servers on one database may run them at the same time."""

    def __init__(self, transactions: Transactions, settings: Settings, shutdown: Shutdown) -> None:
        self._transactions = transactions
        self._grace_secs = settings.lifetimes.tombstone_grace
        self._location = settings.location
        self._shutdown = shutdown

    def run_round(self) -> None:
        """Note and forget what is due. Raises Unavailable while the bucket does not answer."""
        while unnoted := self._transactions.read(kept_files.list_unnoted):
            # Another database that has taken over the bucket may have the datasets.
            self._transactions.database.continuity.look()
            for dataset in unnoted:
                self._note(dataset)
        while not self._shutdown.is_requested:
            if not self._transactions.write(lambda tx: kept_files.forget(tx, self._grace_secs)):
                return

    def _note(self, dataset: KeptDataset) -> None:
        try:
            store = open_store(self._location, is_brief=True)
            mark_kept(store, str(dataset.dataset_id), dataset.name)
        except StoreError as error:
            raise Unavailable(f"the kept files cannot be noted in the bucket: {error}") from error
        self._transactions.write(lambda tx: kept_files.mark_noted(tx, dataset.dataset_id))
