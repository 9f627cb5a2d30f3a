"""A meta that only writes names to the bucket, over a database and a folder."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from sqlalchemy import text

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.process.shutdown import Shutdown
from meta.store.catalog import dataset_names, datasets, groups
from meta.store.engine.pool import Database, Transaction
from meta.watches import witness_watch
from meta.watches.name_notes import NameNotes
from segments import noted_names
from segments.dataset_names import parse
from segments.noted_names import DATASET, GROUP, NotedName
from segments.store.interface import ObjectStore
from segments.store.open import open_store

Result = TypeVar("Result")


@dataclass
class NamesDriver:
    """Changes names, and writes those that are due."""

    database: Database
    settings: Settings
    notes: NameNotes = field(init=False)
    store: ObjectStore = field(init=False)

    def __post_init__(self) -> None:
        self.notes = NameNotes(self.database, self.settings, Shutdown())
        self.store = open_store(self.settings.location)

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        return Transactions(self.database).write(work)

    def run(self, statement: str, **values: object) -> list[tuple[object, ...]]:
        """Run a statement; answers its rows."""

        def work(tx: Transaction) -> list[tuple[object, ...]]:
            result = tx.execute(text(statement), values)
            return [tuple(row) for row in result] if result.returns_rows else []

        return self.write(work)

    def dataset(self, name: str) -> UUID:
        return self.write(lambda tx: datasets.create(tx, parse(name), live_max=1_000_000)).id

    def group(self, name: str) -> UUID:
        return self.write(lambda tx: groups.create(tx, name)).id

    def rename(self, dataset_id: UUID, name: str) -> None:
        self.write(lambda tx: dataset_names.rename(tx, dataset_id, parse(name)))

    def title(self, dataset_id: UUID, title: str) -> None:
        self.run("UPDATE datasets SET title = :title WHERE id = :id", title=title, id=dataset_id)

    def settle(self) -> int:
        """Write all names that are due; answers the number of rounds."""
        rounds = 0
        while self.notes.run_round():
            rounds += 1
        return rounds

    def noted(self, kind: str = DATASET) -> dict[UUID, tuple[int, NotedName]]:
        """The newest names of the bucket with their numbers."""
        objects = noted_names.newest(self.store, kind)
        names = noted_names.read(self.store, objects)
        return {UUID(i): (item.number, names[i]) for i, item in objects.items()}

    def object_keys(self) -> list[str]:
        return [info.key for info in self.store.list(noted_names.NAMES_ROOT)]

    def unnoted(self) -> int:
        """The datasets and groups whose names the bucket does not have."""
        due = "SELECT count(*) FROM {} WHERE noted_number IS DISTINCT FROM name_number"
        counts = (self.run(due.format(f"{kind}s"))[0][0] for kind in (DATASET, GROUP))
        return sum(int(str(count)) for count in counts)


@contextmanager
def noting(settings: Settings, *, database_url: str = "") -> Iterator[NamesDriver]:
    """Begin a witness; no background job runs beside."""
    Path("/", settings.location.path).mkdir(exist_ok=True)
    url = database_url or settings.database.url
    settings = replace(settings, database=replace(settings.database, url=url))
    database = Database(settings.database)
    witness_watch.begin(database, settings)
    try:
        yield NamesDriver(database, settings)
    finally:
        witness_watch.end(database)
        database.close()
