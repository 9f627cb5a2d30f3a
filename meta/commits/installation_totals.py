"""Bounds of all tenants together, for callers who see and count their tenant alone."""

from collections.abc import Callable

from meta import access
from meta.commits.transactions import Transactions
from meta.errors import QuotaExceeded
from meta.store.engine import scope
from meta.store.engine.pool import Transaction


def check(
    transactions: Transactions, noun: str, count: Callable[[Transaction], int], most: int
) -> None:
    """Raise QuotaExceeded if there are so many entries in all; operators count when they create.

    Calls at one time may go beyond it by as many.
    """
    if scope.tenant_key() is None:
        return
    with access.as_server():
        total = transactions.read(count)
    if total >= most:
        raise QuotaExceeded(f"the installation has {most} {noun}, its maximum", limit=most)
