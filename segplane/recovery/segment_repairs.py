"""Ways out of a damaged segment: hide it, replace its object, or put a hidden one back.

Each step may be repeated after a crash. A hidden segment is marked in the bucket after meta has
hidden it: a rebuild in between brings it back, which loses nothing. A new object is marked as
replacing the old one before it is there: a rebuild takes whichever of the two there is, the new one
if both are, and never both.
"""

import dataclasses
import hashlib
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from dataplane.location import ask_location
from dataplane.registration import create_segment, registered_facts
from meta.client import MetaClient
from meta.v1 import common_pb2, operations_pb2, segment_lookup_pb2
from segments.checksums import BLOCK_BYTES, checksum_of
from segments.errors import CorruptObject, ObjectExists, ObjectMissing
from segments.markers import mark_hidden, mark_replaced
from segments.object_check import KnownObject, check_object
from segments.parquet.content import read_local_content
from segments.parquet.footer import (
    SegmentFacts,
    SegmentFooter,
    StoredFooter,
    differences,
)
from segments.parquet.reader import SegmentFile, read_footer
from segments.parquet.upload import verify_segment
from segments.store.interface import ObjectStore
from segments.store.open import open_stores
from segplane.read.lookup import object_key
from segplane.recovery.object_attempts import register_once


class RepairRefused(Exception):
    """The repair cannot be done; the message is one line that says why."""


class AlteredFile(RepairRefused):
    """The file is not the object that was registered; `differences` are lines for a person."""

    def __init__(self, message: str, differences: list[str]) -> None:
        super().__init__(message)
        self.differences = differences


@dataclass(frozen=True, slots=True)
class _File:
    """A sound file: its footer, and the facts that are registered."""

    stored: StoredFooter
    facts: SegmentFacts


def hide(
    client: MetaClient, segment_id: str, acceptance: operations_pb2.LossAcceptance
) -> operations_pb2.HideSegmentResponse:
    """Hide a segment, then mark it in the bucket. Raises MetaError, StoreError."""
    request = operations_pb2.HideSegmentRequest(segment_id=segment_id, acceptance=acceptance)
    reply = client.operations.HideSegment(request)
    mark_hidden(_store(client), object_key(reply.segment))
    return reply


def replace(
    client: MetaClient,
    segment_id: str,
    path: Path,
    acceptance: operations_pb2.LossAcceptance,
    *,
    accepts_altered: bool = False,
) -> operations_pb2.ReplaceSegmentResponse:
    """Check a file, put it under a new key and let it take the segment's place.

    Raises RepairRefused if it is not the segment's or the segment needs no repair, AlteredFile if
    its checksum is not the registered one and that is not accepted, MetaError, StoreError.
    """
    segment = _segment(client, segment_id)
    location, store = ask_location(client, "segments"), _store(client)
    file = _read(path)
    old_key = object_key(segment)
    is_altered = _is_altered(store, segment, old_key, file.facts)
    if is_altered and not accepts_altered:
        raise _altered(store, segment, old_key, path, file.facts)
    _check(store, segment, old_key, file)
    if is_altered:
        _check_columns(path)

    def new_key(attempt: int) -> str:
        return _replacing_key(segment_id, old_key, file.facts, attempt)

    def put(attempt: int) -> operations_pb2.ReplaceSegmentResponse:
        key = new_key(attempt)
        mark_replaced(store, old_key, key)
        with suppress(ObjectExists):
            store.put_file_if_absent(key, path)
        # An object of an earlier call is compared like any other.
        verify_segment(store, key, file.facts)
        message = create_segment(segment.dataset_id, location.bucket_of(key), key, file.facts)
        return client.operations.ReplaceSegment(
            operations_pb2.ReplaceSegmentRequest(
                segment_id=segment_id,
                segment=message,
                ranges=_ranges(file.stored.footer),
                acceptance=acceptance,
                accept_altered=is_altered,
            )
        )

    return register_once(client, store, lambda attempt: [new_key(attempt)], put)


def _replacing_key(segment_id: str, old_key: str, facts: SegmentFacts, attempt: int) -> str:
    """The same file gets the same key, so a repetition finds the object of the call before it."""
    text = f"{segment_id} {facts.crc32c} {facts.compressed_size_bytes}"
    name = hashlib.blake2b(
        (text + (f" {attempt}" if attempt else "")).encode(), digest_size=16
    ).digest()
    return f"{old_key.rpartition('/')[0]}/{UUID(bytes=name)}.parquet"


def altered_lines(client: MetaClient, segment_id: str, path: Path) -> list[str]:
    """Compare a file with a segment; empty if its bytes are the registered ones."""
    segment, file = _segment(client, segment_id), _read(path)
    store, key = _store(client), object_key(segment)
    if not _is_altered(store, segment, key, file.facts):
        return []
    return _altered(store, segment, key, path, file.facts).differences


def take_back(
    client: MetaClient, segment_id: str, acceptance: operations_pb2.LossAcceptance
) -> operations_pb2.TakeBackReplacementResponse:
    """Hide a replaced segment again, then mark both in the bucket. Raises MetaError, StoreError."""
    request = operations_pb2.TakeBackReplacementRequest(
        segment_id=segment_id, acceptance=acceptance
    )
    reply = client.operations.TakeBackReplacement(request)
    store = _store(client)
    for segment in (reply.replacement, reply.original):
        mark_hidden(store, object_key(segment))
    return reply


def unhide(
    client: MetaClient, segment_id: str, acceptance: operations_pb2.LossAcceptance
) -> operations_pb2.ReplaceSegmentResponse:
    """Put a hidden segment back, as a copy of its object. Raises as `replace` does."""
    segment = _segment(client, segment_id)
    if not segment.HasField("tombstone_version"):
        raise RepairRefused(f"segment {segment_id} is live, not hidden")
    with tempfile.TemporaryDirectory(prefix="segplane-unhide-") as folder:
        path = _copy(_store(client), object_key(segment), Path(folder))
        if path is None:
            raise RepairRefused(f"object {object_key(segment)} is missing")
        return replace(client, segment_id, path, acceptance)


def _copy(store: ObjectStore, key: str, folder: Path) -> Path | None:
    """Copy an object into a local folder; None if it is missing."""
    path = folder / "segment.parquet"
    try:
        with store.open_input(key) as source, path.open("wb") as target:
            shutil.copyfileobj(source, target, BLOCK_BYTES)
    except ObjectMissing:
        return None
    return path


def _store(client: MetaClient) -> ObjectStore:
    return open_stores(ask_location(client, "segments").stores)


def _segment(client: MetaClient, segment_id: str) -> common_pb2.SegmentInfo:
    request = segment_lookup_pb2.GetSegmentsByIdsRequest(segment_ids=[segment_id])
    for segment in client.segment_lookup.GetSegmentsByIds(request).segments:
        return segment
    raise RepairRefused(f"there is no segment {segment_id}")


def _read(path: Path) -> _File:
    """Read the whole file, every page of it."""
    try:
        with SegmentFile(path) as segment:
            segment.read_all()
        read = read_local_content(path)
    except (CorruptObject, OSError) as error:
        raise RepairRefused(f"{path} is not a sound segment: {error}") from None
    with path.open("rb") as source:
        checksum = checksum_of(source)
    facts = SegmentFacts.of(read.stored, read.size_bytes, checksum.size_bytes, checksum.crc32c)
    return _File(read.stored, dataclasses.replace(facts, content=read.proven or facts.content))


def _ranges(footer: SegmentFooter) -> list[operations_pb2.OffsetRange]:
    return [
        operations_pb2.OffsetRange(
            stream_id=span.stream_id, first_offset=span.start, last_offset=span.end
        )
        for span in footer.ranges
    ]


def _is_altered(
    store: ObjectStore, segment: common_pb2.SegmentInfo, key: str, facts: SegmentFacts
) -> bool:
    """Whether a file's bytes are not known to be the registered ones.

    Raises RepairRefused if the object itself is sound, unless it is hidden and the file its copy.
    """
    registered = segment.crc32c if segment.HasField("crc32c") else None
    is_live = not segment.HasField("tombstone_version")
    expected = KnownObject(key, segment.compressed_size_bytes, registered)
    reading = check_object(store, expected, read_pages=registered is None)
    if registered is None:
        # A copy of a whole object is the only file that is known to be the same.
        if reading.damage or reading.crc32c != facts.crc32c:
            return True
    elif reading.damage:
        return facts.crc32c != registered
    if is_live or reading.crc32c != facts.crc32c:
        raise RepairRefused(
            f"object {key} is sound: its checksum is {reading.crc32c:08x}"
            f"{' as registered' if registered is not None else ''}"
            + ("" if is_live else "; `segments hide --undo` puts it back")
        )
    return False


def _altered(
    store: ObjectStore, segment: common_pb2.SegmentInfo, key: str, path: Path, facts: SegmentFacts
) -> AlteredFile:
    # pyarrow's comparisons are needed by this refusal alone.
    from segplane.recovery.altered_files import differences

    registered = f"{segment.crc32c:08x}" if segment.HasField("crc32c") else "unknown"
    with tempfile.TemporaryDirectory(prefix="segplane-replace-") as folder:
        lines = differences(segment, _copy(store, key, Path(folder)), path)
    return AlteredFile(
        f"the file's checksum is {facts.crc32c:08x}, the registered one is {registered};"
        " add --accept-altered if these records are to take the place",
        lines,
    )


def _check(store: ObjectStore, segment: common_pb2.SegmentInfo, old_key: str, file: _File) -> None:
    """Compare a file with its registration and, if it can be read, with the old footer."""
    for difference in differences(file.stored, registered_facts(segment)):
        raise RepairRefused(difference)
    try:
        old = read_footer(store, old_key).footer
    except (CorruptObject, ObjectMissing):
        return  # meta compares the offsets.
    if _parts(file.stored.footer) != _parts(old):
        raise RepairRefused("the file and the segment hold different nursery batches")


def _check_columns(path: Path) -> None:
    # pyarrow's comparisons are needed for altered files alone.
    from segplane.recovery.altered_files import stale_columns

    if stale := stale_columns(path):
        raise RepairRefused(
            f"the file's automatic columns of {', '.join(stale)} differ from its attributes;"
            " write them anew, or say false for them in segplane.automatic of its footer"
        )


def _parts(footer: SegmentFooter) -> set[tuple[str, int]]:
    return {(batch.batch_id, batch.part) for batch in footer.batches}
