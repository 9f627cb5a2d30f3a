"""Names of datasets, groups and tenants in the bucket, for a database that is lost or put back.

A writer may sleep for any time between two steps. It writes one number of a name alone, which has
one content, so a late object is an old one.
"""

from contextlib import suppress
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import Unavailable
from meta.process.shutdown import Shutdown
from meta.store.engine.pool import Database
from meta.store.recovery import name_numbers
from meta.store.recovery.name_numbers import NONE, DueName
from segments import noted_names
from segments.errors import ObjectExists, ObjectMissing, StoreError
from segments.noted_names import DATASET, GROUP, TENANT
from segments.store.interface import ObjectStore
from segments.store.open import open_store

# Of a round. With a pause of a second, 100,000 names are noted in 20 minutes or more.
NAMES_AT_ONCE = 100


class NameNotes:
    """One server's rounds; those of several servers write the same objects."""

    def __init__(self, database: Database, settings: Settings, shutdown: Shutdown) -> None:
        self._database = database
        self._transactions = Transactions(database)
        self._location = settings.location
        self._shutdown = shutdown

    def run_round(self) -> bool:
        """Write some names that the bucket does not have; False if there are none.

        A server without a witness writes none. Raises Unavailable while the bucket does not answer.
        """
        if self._database.continuity.guard is None:
            return False
        names = self._transactions.read(lambda tx: name_numbers.due(tx, NAMES_AT_ONCE))
        if not names:
            return False
        # Another database that has taken over the bucket may have other names.
        self._database.continuity.look()
        noted: dict[str, dict[UUID, int]] = {DATASET: {}, GROUP: {}, TENANT: {}}
        try:
            store = open_store(self._location, is_brief=True)
            for name in names:
                if self._shutdown.is_requested:
                    break
                if self.write(store, name):
                    noted[name.kind][name.id] = NONE if name.is_gone else name.number
        except StoreError as error:
            raise Unavailable(f"names cannot be noted in the bucket: {error}") from error
        finally:
            self._transactions.write(lambda tx: name_numbers.note(tx, noted))
        return True

    def write(self, store: ObjectStore, name: DueName) -> bool:
        """Write a name and remove the former ones; False if its number is of another name."""
        return write(self._database, store, name)


def write(database: Database, store: ObjectStore, name: DueName) -> bool:
    """Write a name and remove the former ones; False if its number is of another name.

    Raises Unavailable if the database was put back and is not compared yet.
    """
    entry_id, content = str(name.id), noted_names.encode(name.noted)
    keys = {
        number: noted_names.name_key(name.kind, entry_id, number)
        for number in noted_names.numbers(store, name.kind, entry_id)
    }
    if not name.is_gone:
        highest = max(keys, default=NONE)
        key = keys.pop(name.number, noted_names.name_key(name.kind, entry_id, name.number))
        is_there = highest == name.number
        if highest < name.number:
            try:
                store.put_if_absent(key, content)
            except ObjectExists:
                is_there = True
        if highest > name.number or (is_there and not _has(store, key, content)):
            # The database was put back, and gave the number again. Later changes of tenants are
            # repeated first, which goes by the numbers.
            database.continuity.look(0.0)
            next_number = max(highest, name.number) + 1
            transactions = Transactions(database, is_of_calls=False)
            transactions.write(lambda tx: name_numbers.skip(tx, name, next_number))
            return False
    if keys:
        store.delete(list(keys.values()))
    return True


def _has(store: ObjectStore, key: str, content: bytes) -> bool:
    """Return whether an object has a content; one that was removed meanwhile is an old name's."""
    with suppress(ObjectMissing):
        return store.get(key) == content
    return False
