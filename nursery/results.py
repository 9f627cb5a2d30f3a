"""Results of tasks for the driver: facts of files, counts and errors; never records."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from segments.errors import StoreUnavailable
from segments.parquet.upload import WrittenSegment

# Columns that a line of the log names.
LOGGED_COLUMNS_MAX = 100


@dataclass(frozen=True, slots=True)
class DatasetResult:
    """One task's outcome for one dataset; with an error its segments must not be registered.

    `unconverted` counts attribute values that do not fit their typed column, by column: they are
    null there. `stated` has what each part of the registration gathered, by the name of its field
    of the request; only the part opens it.
    """

    dataset_id: str
    segments: tuple[WrittenSegment, ...] = ()
    error: str = ""
    unconverted: tuple[tuple[str, int], ...] = ()
    stated: Mapping[str, object] = field(default_factory=dict)

    def unconverted_values(self) -> dict[str, object]:
        """Return, for the log, how many values did not fit: in all and by column."""
        count = sum(number for _, number in self.unconverted)
        return {"count": count, "columns": dict(self.unconverted[:LOGGED_COLUMNS_MAX])}


@dataclass(frozen=True, slots=True)
class UnreadableBaby:
    """A committed baby segment that could not be read: no merged offset may pass it now.

    `is_outage`: the store did not answer, so most likely nothing is wrong with the object.
    """

    stream_id: str
    offset: int
    error: str
    is_outage: bool = False


def unreadable_baby(stream_id: str, offset: int, error: Exception) -> UnreadableBaby:
    """Describe an error of the store or the decoder for a baby segment."""
    message = f"{type(error).__name__}: {error}"
    return UnreadableBaby(stream_id, offset, message, isinstance(error, StoreUnavailable))


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One task's outcome. `quarantined_payloads` counts them by cause."""

    datasets: tuple[DatasetResult, ...] = ()
    unreadable: tuple[UnreadableBaby, ...] = ()
    quarantined_payloads: tuple[tuple[str, int], ...] = ()
    bytes_read: int = 0
