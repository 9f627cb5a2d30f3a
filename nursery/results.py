"""What tasks hand back to the driver: small rows, errors among them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WrittenSegment:
    """One merged segment that stands in the store, verified."""

    key: str
    rows: int
    size_bytes: int
    compressed_size_bytes: int
    start_time: int
    end_time: int


@dataclass(frozen=True, slots=True)
class DatasetResult:
    """What one task made of one dataset; with an error its segments must not be registered.

    `unconverted` counts attributes that did not fit their promoted column.
    """

    dataset_id: str
    segments: tuple[WrittenSegment, ...] = ()
    error: str = ""
    unconverted: int = 0


@dataclass(frozen=True, slots=True)
class UnreadableBaby:
    """A committed baby segment that could not be read: nothing may pass its offset now."""

    stream_id: str
    offset: int
    error: str


@dataclass(frozen=True, slots=True)
class TaskResult:
    """All that one task did. `quarantined` counts payload slices by cause."""

    datasets: tuple[DatasetResult, ...] = ()
    unreadable: tuple[UnreadableBaby, ...] = ()
    quarantined: tuple[tuple[str, int], ...] = ()
    bytes_read: int = 0
