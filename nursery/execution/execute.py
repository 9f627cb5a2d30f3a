"""Work of one Spark task: merges baby segments into one dataset's files after another.

A record's way: `baby_reader` fetches and decodes its baby, `routing` finds its dataset,
`decoding` turns payloads into rows, `columns` hold a dataset's rows until `writing` makes them
files. Knows neither Spark nor meta. Nothing is raised for a dataset or a baby that fails: an
exception would end the whole job, and with it the other datasets' finished work.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dataplane.babies.columns import DatasetColumns
from dataplane.babies.conformity import QuarantinedPart
from dataplane.babies.decoding import RoutedPayload, UndecodablePayload, decode_pass
from dataplane.babies.deduplication import TooManyEvents
from dataplane.babies.payload import Payload
from dataplane.babies.reader import BabyReader
from dataplane.babies.reads import TaskRead
from dataplane.babies.routing import Router, StrayPayload
from nursery.execution.dataset_execution import DatasetExecution
from nursery.execution.quarantine import Quarantine
from nursery.execution.writing import write_datasets
from nursery.planning.tasks import Task
from nursery.results import TaskResult, UnreadableBaby, unreadable_baby
from segments.deduplication import CLAIMS_MAX
from segments.errors import ObjectMissing, SegmentsError
from segments.otlp.wire import UndecodableSlice
from segments.signals import SIGNALS, Signal
from segments.store.interface import ObjectStore

# A payload makes half a dozen objects that live until it is decoded. By default every 700 of them
# were looked through, which took a tenth of the CPU of a task over 5,000 datasets.
_COLLECT_OBJECTS = 50_000

# A baby by stream id and offset.
BabyId = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes of OTLP decoded in one pass, and of columns held before they are written."""

    decode_bytes_max: int
    held_bytes_max: int


def execute(task: Task, store: ObjectStore, budget: Budget, folder: Path) -> TaskResult:
    """Run one task; `folder` is an empty folder on local disk for its files."""
    with _rare_collections():
        return _TaskExecution(task, store, budget, folder).run()


class _TaskExecution:
    """State of one task while it streams through its baby segments."""

    def __init__(self, task: Task, store: ObjectStore, budget: Budget, folder: Path) -> None:
        self._reads = task.reads
        self._store = store
        self._budget = budget
        self._folder = folder
        self._datasets = [DatasetExecution(*numbered) for numbered in enumerate(task.works)]
        self._router = Router(task.routes, self._datasets)
        self._quarantine = Quarantine(store)
        self._reader = BabyReader(store, self._quarantine)
        self._pending: dict[Signal, list[RoutedPayload[DatasetExecution]]] = {}
        self._pending_bytes = 0
        self._held_bytes = 0
        self._unreadable: dict[str, UnreadableBaby] = {}

    def run(self) -> TaskResult:
        for read, body in self._reader.fetch(self._reads):
            self._add_baby(read, body)
            self._keep_within_budget()
        self._decode()
        self._write()
        return TaskResult(
            datasets=tuple(dataset.result() for dataset in self._datasets),
            unreadable=tuple(self._unreadable.values()),
            quarantined_payloads=self._quarantine.counts(),
            bytes_read=self._reader.bytes_read,
        )

    def _add_baby(self, read: TaskRead, body: bytes | SegmentsError) -> None:
        """Route one baby; an error stops its stream here, for this cycle."""
        if read.stream_id in self._unreadable:
            return
        if read.is_empty and isinstance(body, ObjectMissing):
            return
        try:
            baby, received_at = self._reader.decode(read, body, self._router.is_wanted(read))
            for routed in self._router.route(read, baby, received_at):
                if isinstance(routed, StrayPayload):
                    self._quarantine.put_payload(
                        routed.payload, routed.cause, dataset_id=routed.dataset_id
                    )
                else:
                    self._add_payload(*routed)
        except SegmentsError as error:
            self._stop_stream(read, error)

    def _add_payload(self, dataset: DatasetExecution, payload: Payload) -> None:
        try:
            pieces = (payload,) if payload.is_one_piece else tuple(payload.pieces())
        except UndecodableSlice as error:
            self._reject(UndecodablePayload(RoutedPayload(dataset, payload), str(error)))
            return
        for piece in pieces:
            # Checked before a piece is added: the baby is then known to have more to come.
            self._keep_within_budget((piece.stream_id, piece.offset))
            self._pending.setdefault(piece.signal, []).append(RoutedPayload(dataset, piece))
            self._pending_bytes += piece.decoded_bytes

    def _keep_within_budget(self, unfinished_baby: BabyId | None = None) -> None:
        if self._pending_bytes >= self._budget.decode_bytes_max:
            self._decode()
        if self._held_bytes >= self._budget.held_bytes_max:
            self._write(unfinished_baby)

    def _stop_stream(self, read: TaskRead, error: Exception) -> None:
        """Fail all datasets that read the stream: none of them may pass this baby."""
        self._unreadable[read.stream_id] = unreadable_baby(read.stream_id, read.offset, error)
        for dataset in self._datasets:
            if dataset.reads(read.stream_id):
                dataset.fail(error)

    def _decode(self) -> None:
        """Decode all pending payloads, one pass per signal."""
        pending, self._pending, self._pending_bytes = self._pending, {}, 0
        for signal in SIGNALS:
            routed = [item for item in pending.get(signal, ()) if not item.dataset.error]
            if not routed:
                continue
            try:
                left_out = decode_pass(signal, routed)
            except Exception as error:  # noqa: BLE001 - the top of a pass
                # A bug or a lack of memory fails these datasets and no other.
                for item in routed:
                    item.dataset.fail(error)
                continue
            for payload in left_out.undecodable:
                self._reject(payload)
            for item, part in left_out.schema_violations:
                self._quarantine_part(item.dataset, part)
        for dataset in self._datasets:
            if dataset.events is not None and len(dataset.events) > CLAIMS_MAX:
                dataset.fail(TooManyEvents(f"more than {CLAIMS_MAX} events at once"))
        self._held_bytes = sum(dataset.columns.size_bytes for dataset in self._datasets)

    def _reject(self, undecodable: UndecodablePayload[DatasetExecution]) -> None:
        routed = undecodable.routed
        try:
            self._quarantine.put_payload(
                routed.payload, "undecodable", undecodable.error, routed.dataset.dataset_id
            )
        except SegmentsError as error:
            routed.dataset.fail(error)

    def _quarantine_part(self, dataset: DatasetExecution, part: QuarantinedPart) -> None:
        """Quarantine records that are skipped; the registration of the dataset names them."""
        try:
            self._quarantine.put_part(part, dataset.dataset_id)
        except SegmentsError as error:
            dataset.fail(error)
        dataset.quarantined[part.payload.stream_id] = part.verdict

    def _write(self, unfinished_baby: BabyId | None = None) -> None:
        """Write the held rows; datasets of an unfinished baby keep a table for their last file."""
        finished: list[tuple[DatasetExecution, DatasetColumns]] = []
        unfinished: list[tuple[DatasetExecution, DatasetColumns]] = []
        for dataset in self._datasets:
            if unfinished_baby in dataset.columns.babies:
                unfinished.append((dataset, dataset.columns.take_front()))
            else:
                finished.append((dataset, dataset.take_columns()))
        write_datasets(self._store, self._folder, finished, is_last=True)
        write_datasets(self._store, self._folder, unfinished, is_last=False)
        self._held_bytes = sum(dataset.columns.size_bytes for dataset in self._datasets)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Collect garbage less often within the block."""
    thresholds = gc.get_threshold()
    gc.set_threshold(_COLLECT_OBJECTS, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
