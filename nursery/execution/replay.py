"""Writes one payload of the quarantine as merged segments, by the nursery's own decoding.

Its files name their own batch and no baby segment: the records of its baby are in other
segments. Batch and keys follow from the payload's key, so that a repetition writes no second copy.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from dataplane.babies.conformity import QuarantinedPart
from dataplane.babies.decoding import RoutedPayload, decode_pass
from dataplane.babies.deduplication import SeenEvents
from dataplane.babies.payload import Payload
from dataplane.babies.reads import DatasetWork
from nursery.execution.dataset_execution import DatasetExecution, OpenBatch
from nursery.execution.quarantine import NOTED_MISFITS_MAX
from nursery.execution.segment_files import FILES_MAX, write_segments
from nursery.results import DatasetResult
from segments.ids import uuid_of
from segments.keys import QuarantineKey, merged_prefix, parse_key
from segments.offsets import OffsetSpan
from segments.otlp.wire import UndecodableSlice
from segments.parquet.spec import SegmentSpec
from segments.store.interface import ObjectStore


class StillViolating(Exception):
    """Records of the payload are skipped for a cause, as by a nursery; the message names them."""

    def __init__(self, part: QuarantinedPart) -> None:
        super().__init__(part.schema_violations.text(NOTED_MISFITS_MAX))
        self.cause = part.cause


@dataclass(slots=True)
class _ReplayBatch(OpenBatch):
    attempt: int = 0

    def key(self, work: DatasetWork, part: int) -> str:
        # Always in the default store: were it the dataset's, a repetition after a move would have
        # another key and write a second copy.
        name = f"{self.batch_id} {part}" + (f" {self.attempt}" if self.attempt else "")
        return f"{merged_prefix(work.dataset_id)}{uuid_of(name)}.parquet"


def replay_keys(object_key: str, dataset_id: str, attempt: int) -> list[str]:
    """The keys of all files that an attempt at a replay may write, the first one's first."""
    batch = _batch(object_key, attempt)
    work = DatasetWork(dataset_id, SegmentSpec(), ())
    return [batch.key(work, part) for part in range(1, FILES_MAX + 1)]


def write_payload(
    store: ObjectStore,
    payload: Payload,
    object_key: str,
    dataset_id: str,
    spec: SegmentSpec,
    folder: Path,
    *,
    attempt: int = 0,
    claimed: Collection[bytes] = (),
) -> DatasetResult:
    """Decode a payload and write its records; `folder` is an empty folder on local disk.

    Events with `claimed` deduplication keys are skipped. Each attempt has its own keys. Raises
    UndecodableSlice, StillViolating, StoreError, CorruptObject, and ObjectExists if an object
    of this attempt holds other bytes.
    """
    work = DatasetWork(dataset_id, spec, ())
    execution = DatasetExecution(0, work)
    if spec.deduplication is not None:
        execution.events = SeenEvents(spec.deduplication, claimed)
    for piece in payload.pieces():
        left_out = decode_pass(piece.signal, [RoutedPayload(execution, piece)])
        for failed in left_out.undecodable:
            raise UndecodableSlice(failed.error)
        for _, part in left_out.schema_violations:
            raise StillViolating(part)
    columns = execution.take_columns()
    # In the footer they would make a rebuild take the file for a copy of the baby's own segment.
    columns.babies = set()
    baby = OffsetSpan(payload.stream_id, payload.offset, payload.offset)
    if columns.rows:
        execution.segments = write_segments(
            store,
            work,
            columns,
            folder,
            _batch(object_key, attempt),
            replace(execution.footer(columns), quarantined=((_verdict(object_key), (baby,)),)),
            is_last=True,
        )
    return execution.result()


def _verdict(object_key: str) -> str:
    name = parse_key(object_key)
    return (name.verdict or "") if isinstance(name, QuarantineKey) else ""


def _batch(object_key: str, attempt: int) -> _ReplayBatch:
    return _ReplayBatch(batch_id=str(uuid_of(object_key)), attempt=attempt)
