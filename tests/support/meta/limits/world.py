"""The server that cases of limits share, with a dataset and a token."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID, uuid4

from sqlalchemy import text

from meta.client import MetaClient
from meta.store.engine.pool import Database
from meta.v1 import common_pb2
from tests.support.meta.catalog import CatalogDriver, Token
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import Writer, segment_of


@dataclass(frozen=True)
class World:
    """A server with one dataset, and how to write rows past it."""

    client: MetaClient
    database: Database
    dataset: str
    token: Token

    @property
    def catalog(self) -> CatalogDriver:
        return CatalogDriver(self.client)

    @property
    def nursery(self) -> NurseryDriver:
        return NurseryDriver(self.client)

    @property
    def writer(self) -> Writer:
        return Writer(self.client)

    def collector(self) -> IngestionDriver:
        """Give its own collector."""
        return IngestionDriver(self.client, f"collector-{uuid4().hex}")

    def segment(self) -> common_pb2.CreateSegment:
        """Describe a segment of the dataset under a fresh key."""
        return segment_of(self.dataset)

    def execute(self, *statements: str, **values: object) -> None:
        """Run statements in one transaction."""
        with self.database.write() as tx:
            for statement in statements:
                named = {key: value for key, value in values.items() if f":{key}" in statement}
                tx.execute(text(statement), named)


# A call with a number of something: raises if the server refuses it, else may say what came back.
Case = Callable[[World, int], object]


def case_of(cases: dict[str, Case]) -> Callable[[str], Callable[[Case], Case]]:
    """Give a decorator that names the row of docs/contract.md that a case is of."""

    def of(limit: str) -> Callable[[Case], Case]:
        def note(case: Case) -> Case:
            assert limit not in cases
            cases[limit] = case
            return case

        return note

    return of


def ids(count: int) -> list[str]:
    """Ids of nothing that exists."""
    return [str(UUID(int=(7 << 76) + number)) for number in range(count)]
