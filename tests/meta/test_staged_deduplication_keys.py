"""Deduplication keys that come before their registration, in parts."""

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from meta.commits.transactions import Transactions
from meta.errors import Overloaded
from meta.store.deduplication import staging
from meta.store.deduplication.staging import StagedParts
from meta.store.deduplication.windows import DayKeys
from meta.store.engine.pool import Database, DatabaseSettings
from tests.support.meta.background import rounds_on
from tests.support.meta.deduplication_keys import hash_of


@pytest.fixture
def transactions(database_url: str) -> Iterator[Transactions]:
    database = Database(DatabaseSettings(url=database_url))
    yield Transactions(database)
    database.close()


def part(*names: int) -> tuple[DayKeys, ...]:
    """The names of two days."""
    hashes = [hash_of(name) for name in names]
    return DayKeys(7, b"".join(hashes[:1])), DayKeys(9, b"".join(hashes[1:]))


def stage(transactions: Transactions, staged_id: UUID, number: int, *names: int) -> None:
    transactions.write(lambda tx: staging.stage(tx, staged_id, number, part(*names)))


def are_complete(transactions: Transactions, parts: StagedParts) -> bool:
    return transactions.write(lambda tx: staging.lock(tx, parts))


def test_parts_are_read_as_they_were_stored(transactions: Transactions) -> None:
    parts = StagedParts(uuid4(), 2)
    stage(transactions, parts.id, 1, 4, 5)
    assert not are_complete(transactions, parts)
    stage(transactions, parts.id, 0, 1, 2, 3)
    stage(transactions, parts.id, 0, 9, 9)

    assert are_complete(transactions, parts)
    assert transactions.read(lambda tx: list(staging.read(tx, parts))) == [
        part(1, 2, 3),
        part(4, 5),
    ]


def test_parts_that_wait_are_bounded_and_forgotten(
    transactions: Transactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "STAGED_MAX", 2)
    old, young = uuid4(), uuid4()
    stage(transactions, old, 0, 1, 2)
    stage(transactions, young, 0, 3, 4)
    with pytest.raises(Overloaded, match="2 parts of deduplication keys wait"):
        stage(transactions, young, 1, 5, 6)
    # A repetition takes no room.
    stage(transactions, young, 0, 3, 4)
    age = text(
        "UPDATE staged_deduplication_keys SET staged_at = staged_at - interval '2 hours'"
        " WHERE staged_id = :id"
    )
    transactions.write(lambda tx: tx.execute(age, {"id": old}))

    rounds_on(transactions.database).merge_deduplication_keys()

    assert [are_complete(transactions, StagedParts(i, 1)) for i in (old, young)] == [False, True]
    stage(transactions, young, 1, 5, 6)
