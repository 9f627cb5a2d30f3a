"""The identity of events: of the log records with one value of a column one is a row."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EventIdentity:
    """The promoted column that is the identity, and the number of the rule in meta."""

    rule: int
    column: str
