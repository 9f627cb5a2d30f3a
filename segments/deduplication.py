"""The deduplication key of events: of the log records with one value of a column one is a row."""

from dataclasses import dataclass
from datetime import date

_EPOCH = date(1970, 1, 1).toordinal()
# A hash of a deduplication key.
HASH_BYTES = 16
# Deduplication keys of one message: 4 MB. The next registration of the dataset waits while they are
# looked up, at most five seconds, so nurseries take fewer of them where they can.
DEDUPLICATION_KEYS_MAX = 250_000
# Parts that may come before a registration; a baby segment of our collectors needs three.
STAGED_PARTS_MAX = 8
# Deduplication keys of one registration.
CLAIMS_MAX = DEDUPLICATION_KEYS_MAX * STAGED_PARTS_MAX


@dataclass(frozen=True, slots=True)
class EventWindow:
    """The UTC days since 1970 that events have to be of, both ends inclusive."""

    first_day: int
    last_day: int

    @property
    def text(self) -> str:
        """The days for a person."""
        first, last = (date.fromordinal(_EPOCH + day) for day in (self.first_day, self.last_day))
        return f"{first} to {last}"


@dataclass(frozen=True, slots=True)
class Deduplication:
    """The promoted column that is the deduplication key, and the number of the rule in meta.

    `window` is that of a dataset that refuses events outside; None = it keeps them.
    """

    rule: int
    column: str
    window: EventWindow | None = None
