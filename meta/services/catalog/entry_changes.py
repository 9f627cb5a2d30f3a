"""Changes of schemas, views and projections, each in a transaction with its record."""

from collections.abc import Callable
from typing import Protocol, TypeVar
from uuid import UUID

from google.protobuf.message import Message

from meta.commits.transactions import Transactions
from meta.services.catalog import entry_versions
from meta.store.access import audit
from meta.store.catalog.named_entries import Content, Entry, NamedEntries
from meta.store.engine.pool import Transaction


class _Entry(Protocol):
    """A schema, view or projection."""

    @property
    def id(self) -> UUID: ...

    @property
    def name(self) -> str: ...


Result = TypeVar("Result")


def write_audited(
    transactions: Transactions,
    find: Callable[[Transaction, UUID | str], _Entry | None],
    rpc: str,
    named: UUID | str,
    change: Callable[[Transaction], Result],
) -> Result:
    """Make a change of the entry `named`, and leave a record unless nothing changed by it."""

    def work(tx: Transaction) -> Result:
        before = find(tx, named)
        result = change(tx)
        # It may have another name now.
        after = find(tx, named if before is None else before.id)
        entry = before or after
        if before != after and entry is not None:
            audit.note(tx, rpc, entry.id, _words(before, after))
        return result

    return transactions.write(work)


def change_expected(
    tx: Transaction,
    entries: NamedEntries[Entry],
    named: UUID | str,
    changes: Content,
    expected: str | None,
    content_of: Callable[[Entry], Message],
) -> Entry:
    """Change a view or projection, of the `expected` version. Raises RaceLost for another one."""
    if expected is not None:
        entry = entries.lock(tx, named, changes.schema_id)
        entry_versions.check(expected, content_of(entry), is_in_effect=changes.is_of(entry))
    return entries.change(tx, named, changes)


def _words(before: _Entry | None, after: _Entry | None) -> str:
    if before is None or after is None:
        return f"name {(before or after).name!r}"  # type: ignore[union-attr]
    return audit.states(before, after)
