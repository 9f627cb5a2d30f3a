"""Steps of a session, and the pairs of steps that commute.

Exploring both orders of two steps that do not touch each other would only repeat a schedule.
READ COMMITTED makes most pairs such: what is not committed yet, nobody else sees.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

from meta.store.tables import metadata

_WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE|FOR (NO KEY )?UPDATE)\b")
_SHARES = re.compile(r"\bFOR (KEY )?SHARE\b")
_WORDS = re.compile(r"[a-z_]+")
_NONE: frozenset[str] = frozenset()


class Kind(Enum):
    """Effect of a step on other sessions: none, lock and wait, or release and show."""

    READ = auto()
    LOCK = auto()
    END = auto()


@dataclass(frozen=True)
class Step:
    """A statement or the end of a transaction, with the tables where it locks rows."""

    kind: Kind
    written: frozenset[str] = _NONE
    shared: frozenset[str] = _NONE

    def conflicts_with(self, other: "Step") -> bool:
        """True if the order of the two can matter."""
        kinds = {self.kind, other.kind}
        if kinds == {Kind.READ, Kind.END}:
            # Whatever the tables: a snapshot's first statement decides for all that follow.
            return True
        if Kind.READ in kinds or kinds == {Kind.END}:
            return False
        one_way = self.written & (other.written | other.shared)
        return bool(one_way or other.written & self.shared)


@lru_cache(maxsize=1_000)
def statement(sql: str) -> Step:
    """Classify a statement by its text."""
    named = frozenset(_WORDS.findall(sql)).intersection(metadata.tables)
    if _WRITES.search(sql):
        keys = (key for name in named for key in metadata.tables[name].foreign_keys)
        return Step(Kind.LOCK, named, frozenset(key.column.table.name for key in keys))
    if _SHARES.search(sql):
        return Step(Kind.LOCK, shared=named)
    return Step(Kind.READ)


def end(steps: list[Step]) -> Step:
    """The commit or rollback of a transaction of these statements."""
    written = _NONE.union(*(step.written for step in steps))
    return Step(Kind.END, written, _NONE.union(*(step.shared for step in steps)))
