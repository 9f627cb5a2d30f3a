"""What one step of a session is, and which two steps may change places unnoticed.

Exploring both orders of two steps that do not touch each other would only repeat a schedule.
READ COMMITTED makes most pairs such: what is not committed yet, nobody else sees.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

from meta.store.tables import metadata

_WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE|FOR (NO KEY )?UPDATE|FOR (KEY )?SHARE)\b")
_WORDS = re.compile(r"[a-z_]+")


class Kind(Enum):
    """What a step does to other sessions: nothing, lock and wait, or let go and show."""

    READ = auto()
    WRITE = auto()
    END = auto()


@dataclass(frozen=True)
class Step:
    """A statement or the end of a transaction, with the tables that it touches."""

    kind: Kind
    tables: frozenset[str]

    def conflicts_with(self, other: "Step") -> bool:
        """True if the order of the two can matter."""
        kinds = {self.kind, other.kind}
        if kinds == {Kind.READ, Kind.END}:
            # Whatever the tables: a snapshot's first statement decides for all that follow.
            return True
        if Kind.READ in kinds or kinds == {Kind.END}:
            return False
        return not self.tables.isdisjoint(other.tables)


@lru_cache(maxsize=1_000)
def statement(sql: str) -> Step:
    """Classify a statement by its text."""
    named = set(_WORDS.findall(sql)).intersection(metadata.tables)
    parents = {
        key.column.table.name for name in named for key in metadata.tables[name].foreign_keys
    }
    kind = Kind.WRITE if _WRITES.search(sql) else Kind.READ
    return Step(kind, frozenset(named | parents))


def end(written: list[Step]) -> Step:
    """The commit or rollback of a transaction of these statements."""
    tables = [step.tables for step in written if step.kind is Kind.WRITE]
    return Step(Kind.END, frozenset[str]().union(*tables))
