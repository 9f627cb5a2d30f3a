"""Facts of a baby segment, as every path that commits one sends them to meta.

meta knows a repeated commit by its facts, so the same bytes must always give the same ones. Needs
no pyarrow: collectors have none.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog
from google.protobuf.message import DecodeError

from meta.v1 import ingestion_pb2
from segments.baby import Baby, crc32c, decode_baby
from segments.errors import CorruptObject
from segments.ids import is_canonical_uuid
from segments.keys import baby_key
from segments.otlp.content import read_facts
from segments.store.interface import ObjectStore

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """Facts of one baby segment that CommitOffset sends.

    Times are those of its events, with records that carry none placed at their arrival; (0, 0)
    without records. `dataset_records` counts records by dataset id, as far as stamps name datasets.
    `crc32c` is that of the object; None if nothing proves the bytes.
    """

    start_time: int
    end_time: int
    size_bytes: int
    num_records: int
    flush_id: bytes
    dataset_records: Mapping[str, int]
    crc32c: int | None = None

    @classmethod
    def of_stamps(cls, baby: Baby, size_bytes: int, crc32c: int) -> "CommitFacts":
        """Read the facts off the stamps of a baby of `size_bytes`."""
        start_time, end_time = baby.time_range()
        records = Counter[str]()
        for part in baby.parts:
            # A stamp is whatever a collector wrote; meta refuses what cannot be a dataset's id.
            if part.dataset_id and is_canonical_uuid(part.dataset_id):
                records[part.dataset_id] += part.num_records
        return cls(
            start_time, end_time, size_bytes, baby.num_records, baby.flush_id, records, crc32c
        )

    def request(self, stream_id: str, offset: int) -> ingestion_pb2.CommitOffsetRequest:
        """Build the call that commits the baby at `offset`."""
        return ingestion_pb2.CommitOffsetRequest(
            stream_id=stream_id,
            committed_offset=offset,
            start_time=self.start_time,
            end_time=self.end_time,
            size_bytes=self.size_bytes,
            num_records=self.num_records,
            flush_id=self.flush_id,
            dataset_ids=self.dataset_records.keys(),
            dataset_records=self.dataset_records.values(),
            crc32c=self.crc32c,
        )


@dataclass(frozen=True, slots=True)
class FoundBaby:
    """A baby segment in the store, reduced to the facts that its commit needs.

    `digests` are those of its exports, as far as stamps name them.
    """

    facts: CommitFacts
    digests: tuple[bytes, ...] = ()
    is_stop: bool = False


def read_baby(store: ObjectStore, stream_id: str, offset: int) -> FoundBaby:
    """Read the baby segment at one offset. Raises ObjectMissing, StoreError.

    One that cannot be decoded counts as empty: the nursery puts its bytes into the quarantine. Were
    it not committed, its stream would never advance.
    """
    key = baby_key(stream_id, offset)

    def arrived_at() -> int:
        return store.head(key).modified_at_nanos

    try:
        return found_baby(store.get(key), arrived_at)
    except CorruptObject:
        # Damage on the way must not make acknowledged records of another commit look lost.
        body = store.get(key)
    try:
        return found_baby(body, arrived_at)
    except CorruptObject as error:
        log.error("baby_corrupt", stream_id=stream_id, offset=offset, error=str(error))
        return FoundBaby(CommitFacts(0, 0, len(body), 0, b"", {}))


def found_baby(body: bytes, arrived_at: Callable[[], int]) -> FoundBaby:
    """Reduce a baby segment's bytes; raises CorruptObject.

    `arrived_at` gives the time (nanoseconds) of records without a time, if no stamp has one.
    """
    baby = decode_baby(body)
    if not baby.is_stamped:
        return FoundBaby(_counted(baby, len(body), arrived_at), is_stop=baby.is_stop)
    digests = tuple(export.digest for part in baby.parts for export in part.exports)
    return FoundBaby(CommitFacts.of_stamps(baby, len(body), crc32c(body)), digests, baby.is_stop)


def _counted(baby: Baby, size_bytes: int, arrived_at: Callable[[], int]) -> CommitFacts:
    """Count an unstamped baby, as a collector that knows only the contract writes them."""
    num_records, times = 0, list[int]()
    received_at = arrived_at() if baby.parts else 0
    for part in baby.parts:
        for payload in part.slices:
            try:
                content = read_facts(part.signal, payload)
            except DecodeError:
                # Goes to the quarantine. It counts: a baby of no records would be taken for empty.
                num_records += 1
                continue
            if content.num_records:
                num_records += content.num_records
                times.extend(content.time_bounds(received_at))
    time_bounds = min(times, default=0), max(times, default=0)
    return CommitFacts(*time_bounds, size_bytes, num_records, b"", {})
