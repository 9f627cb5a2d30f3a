"""Tenants and moves of datasets in the bucket, which a restored database is given again.

A tenant is one of the names in the bucket, with its state. The name of a dataset has its tenant; a
mark says which datasets were moved, so that the names of others need not be read.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.errors import Unavailable
from meta.store.engine.pool import Database, Transaction
from meta.store.recovery import name_numbers, returned_tenants
from meta.store.tenancy import repeated_moves
from meta.watches import name_notes
from meta.watches.witness_log import translated
from segments import noted_names
from segments.errors import ObjectExists
from segments.ids import is_canonical_uuid
from segments.inventory.listing import batches
from segments.keys import WITNESS_ROOT
from segments.noted_names import DATASET, READS_AT_ONCE, TENANT, NameObject, NotedName
from segments.store.interface import ObjectStore

MOVED_ROOT = f"{WITNESS_ROOT}moved/"
DATASETS_AT_ONCE = 1_000
_ATTEMPTS_MAX = 5


@dataclass(frozen=True, slots=True)
class LaterTenants:
    """Tenants and moved datasets whose objects are later than the database, with their numbers."""

    tenants: dict[UUID, tuple[int, NotedName | None]] = field(default_factory=dict)
    datasets: dict[UUID, tuple[int, NotedName]] = field(default_factory=dict)


class TenantNotes:
    """The notes of one server. Raises Unavailable if the bucket does not answer."""

    def __init__(self, database: Database, store: ObjectStore) -> None:
        self._database = database
        self._transactions = Transactions(database, is_of_calls=False)
        self._store = store

    def mark_moved(self, dataset_id: UUID) -> None:
        """Mark a dataset before it is moved; repeating it changes nothing."""
        with translated(), suppress(ObjectExists):
            self._store.put_if_absent(f"{MOVED_ROOT}{dataset_id}", b"{}")

    def write(self, kind: str, entry_id: UUID) -> None:
        """Write the name of a tenant or dataset to the bucket now, if it is due."""
        with translated():
            for _ in range(_ATTEMPTS_MAX):
                due = self._transactions.read(
                    partial(name_numbers.find_due, kind=kind, entry_id=entry_id)
                )
                if due is None:
                    return
                if name_notes.write(self._database, self._store, due):
                    noted = {kind: {due.id: due.number}}
                    self._transactions.write(partial(name_numbers.note, noted=noted))
        raise Unavailable("its name changes all the time")

    def read(self, run: Callable[[Callable[[Transaction], Any]], Any]) -> LaterTenants:
        """Read what the database does not know; of datasets those that were moved."""
        with translated():
            return _read(self._store, run)


def _read(store: ObjectStore, run: Callable[[Callable[[Transaction], Any]], Any]) -> LaterTenants:
    numbers = run(returned_tenants.numbers)
    objects = noted_names.newest(store, TENANT)
    # It stays as it is, and has no object.
    objects.pop(noted_names.DEFAULT_TENANT_ID, None)
    newer = {i: item for i, item in objects.items() if item.number > numbers.get(UUID(i), -1)}
    names = noted_names.read(store, newer)
    tenants = {UUID(i): (item.number, names.get(i)) for i, item in newer.items()}
    ids = (info.key.removeprefix(MOVED_ROOT) for info in store.list(MOVED_ROOT))
    datasets: dict[UUID, tuple[int, NotedName]] = {}
    for batch in batches(filter(is_canonical_uuid, ids), DATASETS_AT_ONCE):
        numbers_of = partial(repeated_moves.numbers, dataset_ids=[UUID(i) for i in batch])
        datasets |= _later(store, run(numbers_of))
    return LaterTenants(tenants, datasets)


def _later(store: ObjectStore, numbers: dict[UUID, int]) -> dict[UUID, tuple[int, NotedName]]:
    """The names of datasets whose objects have higher numbers."""

    def newest(dataset_id: UUID) -> NameObject | None:
        return noted_names.newest_of(store, DATASET, str(dataset_id))

    with ThreadPoolExecutor(READS_AT_ONCE) as pool:
        objects = zip(numbers, pool.map(newest, numbers), strict=True)
        newer = {str(i): o for i, o in objects if o is not None and o.number > numbers[i]}
    names = noted_names.read(store, newer)
    return {UUID(i): (newer[i].number, noted) for i, noted in names.items()}
