"""Facts of a Postgres server and of meta's database in it, as an examination reads them."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Standby:
    """A standby; `lag_secs` is None where it is idle, or the role may not see it."""

    name: str
    state: str
    lag_secs: float | None


@dataclass(frozen=True, slots=True)
class RoleRights:
    """A role that has some rights on meta's tables, and the tables where it lacks others."""

    role: str
    tables: int
    lacking: Sequence[str]


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """Facts of one database; sizes in bytes."""

    version: str
    version_number: int
    encoding: str
    # Settings of the server by name, as it shows them.
    settings: dict[str, str]
    connections_max: int
    connections: int
    is_pooled: bool
    # Seconds of a statement that reads nothing of the disk, as this command sees it.
    answer_secs: float
    # Sessions that wait for locks, and the longest such wait; those of other roles may be hidden.
    lock_waits: int
    lock_wait_secs: float
    size_bytes: int
    # Transactions since the oldest row was frozen; Postgres stops writes near 2 billion.
    transaction_age: int
    # None where there are no tables of meta.
    revision: str | None
    newest_revision: str
    role: str
    is_superuser: bool
    roles: Sequence[RoleRights]
    standbys: Sequence[Standby]
