"""The identity of events: of the log records with one value of a column one is a row."""

from dataclasses import dataclass

# A hash of an identity.
HASH_BYTES = 16
# Identities of one registration: 4 MB, which a message holds. The next one of the dataset waits
# while they are looked up, at most five seconds, so nurseries take fewer of them where they can.
IDENTITIES_MAX = 250_000


@dataclass(frozen=True, slots=True)
class EventIdentity:
    """The promoted column that is the identity, and the number of the rule in meta."""

    rule: int
    column: str
