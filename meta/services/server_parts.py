"""Parts of a server that the functions of OperationsService work with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from meta.commits.change_feed import ChangeFeed
from meta.commits.merge_debts import MergeDebts
from meta.commits.merge_registrar import MergeRegistrar
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.store.access.token_secrets import TokenHasher

# Functions by the name of the RPC that they answer; each takes ServerParts, request and context.
Operations: TypeAlias = Mapping[str, Callable[..., object]]


@dataclass(frozen=True, slots=True)
class ServerParts:
    """One server's transactions and settings, and what all of its calls share."""

    transactions: Transactions
    settings: Settings
    feed: ChangeFeed
    registrar: MergeRegistrar
    hasher: TokenHasher
    debts: MergeDebts
