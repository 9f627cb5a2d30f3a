"""The knowledge that meta has of a registered file; needs no library."""

from dataclasses import dataclass
from enum import Enum


class FileOrigin(Enum):
    """The writer of a file, by its registration and by one reading."""

    # A worker wrote it, or its footer was read and is a segment's.
    SEGMENT = "segment"
    # A client registered it without facts, and nobody has read it yet.
    UNREAD = "unread"
    # It was read, and its rows were mapped.
    MAPPED = "mapped"
    # It was read, and is to be skipped.
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class RegisteredFile:
    """The registration of a file; times in nanoseconds, both ends inclusive.

    `time_column` is the one that the dataset's settings name, "" = none.
    """

    segment_id: str
    dataset_id: str
    rows: int
    start_time: int
    end_time: int
    time_column: str = ""
