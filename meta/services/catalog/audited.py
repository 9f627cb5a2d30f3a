"""Changes of catalog entries, each with its record in the audit log."""

from collections.abc import Callable
from typing import Protocol, TypeVar
from uuid import UUID

from meta.store.access import audit
from meta.store.engine.pool import Transaction


class _Entry(Protocol):
    """A schema, view or projection."""

    @property
    def id(self) -> UUID: ...

    @property
    def name(self) -> str: ...


Result = TypeVar("Result")


def audited(
    tx: Transaction,
    rpc: str,
    find: Callable[[Transaction, UUID | str], _Entry | None],
    named: UUID | str,
    change: Callable[[Transaction], Result],
) -> Result:
    """Make a change of the entry `named`, and leave a record unless nothing changed by it."""
    before = find(tx, named)
    result = change(tx)
    # It may have another name now.
    after = find(tx, named if before is None else before.id)
    entry = before or after
    if before != after and entry is not None:
        audit.note(tx, rpc, entry.id, _words(before, after))
    return result


def _words(before: _Entry | None, after: _Entry | None) -> str:
    if before is None or after is None:
        return f"name {(before or after).name!r}"  # type: ignore[union-attr]
    return audit.states(before, after)
