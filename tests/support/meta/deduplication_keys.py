"""Claims of deduplication keys, made in the store of this process."""

import hashlib
from itertools import count

from sqlalchemy import text

from meta.commits.transactions import Transactions
from meta.store.deduplication import claiming, sorted_runs, windows
from meta.store.deduplication.windows import DayKeys
from meta.store.engine.pool import Transaction
from meta.store.tables.deduplication import SLOTS
from meta.store.versions import clock

DAYS = 3
_KEYS = count(1)


class Claims:
    """The claims of its own dataset."""

    def __init__(self, transactions: Transactions, days: int = DAYS) -> None:
        self.transactions = transactions
        self.key = next(_KEYS)
        self.keep(days)
        self.today = transactions.read(clock.now_nanos) // (86_400 * 10**9)

    def keep(self, days: int) -> None:
        """Retain deduplication keys for so many days from now on."""
        self._execute(
            "INSERT INTO dataset_deduplication (dataset_key, days) VALUES (:key, :days)"
            " ON CONFLICT (dataset_key) DO UPDATE SET days = excluded.days",
            {"key": self.key, "days": days},
        )

    def claim(self, *days: DayKeys) -> list[int]:
        """Claim deduplication keys unless some are claimed; returns the positions of those."""

        def work(tx: Transaction) -> list[int]:
            window = windows.lock_window(tx, self.key)
            assert window is not None
            claimed = claiming.find_claimed(tx, window, days)
            if not claimed:
                claiming.claim(tx, window, days)
            return claimed

        return self.transactions.write(work)

    def day(self, ago: int, *names: int) -> DayKeys:
        """Deduplication keys of a day."""
        return DayKeys(self.today - ago, b"".join(map(hash_of, names)))

    def merge(self) -> int:
        """Merge what is due; returns the number of merges."""
        merges = 0
        while self.transactions.write(sorted_runs.merge_due) is not None:
            merges += 1
        return merges

    def runs(self) -> int:
        """The runs of the dataset."""
        return int(self._scalar("SELECT count(*) FROM deduplication_runs WHERE dataset_key = :key"))

    def young_pages(self) -> int:
        """Pages of young runs, of all datasets."""
        return self._scalar(f"SELECT count(*) FROM {sorted_runs.YOUNG}")  # noqa: S608

    def pages_of_day(self, ago: int) -> int:
        """Pages in the table of a day, of all datasets."""
        table = sorted_runs.OF_DAYS[(self.today - ago) % SLOTS]
        return self._scalar(f"SELECT count(*) FROM {table}")  # noqa: S608

    def _execute(self, statement: str, values: dict[str, int]) -> None:
        self.transactions.write(lambda tx: tx.execute(text(statement), values))

    def _scalar(self, statement: str) -> int:
        work = text(statement)
        return int(
            self.transactions.read(
                lambda tx: tx.execute(
                    work, {"key": self.key} if ":key" in statement else {}
                ).scalar_one()
            )
        )


def hash_of(name: int) -> bytes:
    return hashlib.blake2b(str(name).encode(), digest_size=16).digest()
