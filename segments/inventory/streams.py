"""Streams as the bucket shows them: babies, and what a catalog has of a stream that ended."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BabyFound:
    """A baby segment in the bucket; `dataset_ids` None: it holds records and nothing says whose."""

    stream_id: str
    offset: int
    dataset_ids: frozenset[str] | None
    num_records: int
    start_time: int
    end_time: int
    size_bytes: int
    flush_id: bytes
    is_stop: bool
    modified_at_nanos: int


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """The merged offset of a stream and dataset."""

    dataset_id: str
    merged_offset: int
    ingest_time_nanos: int = 0


@dataclass(frozen=True, slots=True)
class EndedStream:
    """A stream, ended at its committed offset; `babies` are those above its deleted offset."""

    stream_id: str
    committed_offset: int
    deleted_offset: int
    entries: tuple[StreamEntry, ...]
    babies: tuple[BabyFound, ...]
