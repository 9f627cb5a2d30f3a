"""What one Spark task does: reads baby segments, decodes its datasets, writes their segments.

Knows neither Spark nor meta. Nothing is raised for a dataset or a baby that fails: an exception
would end the whole job, and with it the neighbours' finished work.
"""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from nursery import quarantine
from nursery.decoding import Undecodable, decode_together
from nursery.results import DatasetResult, TaskResult, UnreadableBaby
from nursery.routing import ROW_BYTES, Payload, Routed, Router
from nursery.segment_files import DatasetColumns
from nursery.tasks import Task, TaskRead
from nursery.writing import Writing
from segments.baby import Baby, decode_baby
from segments.errors import CorruptObject, SegmentsError
from segments.keys import baby_key
from segments.otlp.split import RECORDS_MAX, cut
from segments.otlp.wire import UndecodableSlice
from segments.signals import SIGNALS, Signal
from segments.store.interface import ObjectStore

PREFETCH = 4


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes of OTLP decoded at once, and of columns held before they are written."""

    decode_bytes_max: int
    held_bytes_max: int


def execute(task: Task, store: ObjectStore, budget: Budget, folder: Path) -> TaskResult:
    """Run one task; `folder` is empty local disk for its files."""
    return _Execution(task, store, budget, folder).run()


class _Execution:
    """The state of one task while it streams through its baby segments."""

    def __init__(self, task: Task, store: ObjectStore, budget: Budget, folder: Path) -> None:
        self._task = task
        self._store = store
        self._budget = budget
        self._writing = Writing(store, task.works, folder)
        self._router = Router(task)
        self._pending: dict[Signal, list[tuple[int, Payload]]] = {}
        self._pending_bytes = 0
        self._columns: dict[int, DatasetColumns] = {}
        self._held_bytes = 0
        self._errors: dict[int, str] = {}
        self._unconverted: Counter[int] = Counter()
        self._unreadable: dict[str, UnreadableBaby] = {}
        self._quarantined: Counter[str] = Counter()
        self._bytes_read = 0

    def run(self) -> TaskResult:
        for read, body in self._bodies():
            self._take(read, body)
            self._keep_within_budget()
        self._decode()
        self._write()
        return TaskResult(
            datasets=tuple(
                DatasetResult(
                    work.dataset_id,
                    self._writing.written(i),
                    self._errors.get(i, ""),
                    self._unconverted[i],
                )
                for i, work in enumerate(self._task.works)
            ),
            unreadable=tuple(self._unreadable.values()),
            quarantined=tuple(sorted(self._quarantined.items())),
            bytes_read=self._bytes_read,
        )

    def _bodies(self) -> Iterator[tuple[TaskRead, bytes | Exception]]:
        """Baby segments in order, a few of them read ahead."""
        reads = self._task.reads
        with ThreadPoolExecutor(PREFETCH) as pool:
            ahead = [pool.submit(self._fetch, read) for read in reads[:PREFETCH]]
            for index, read in enumerate(reads):
                body = ahead.pop(0).result()
                if index + PREFETCH < len(reads):
                    ahead.append(pool.submit(self._fetch, reads[index + PREFETCH]))
                yield read, body

    def _fetch(self, read: TaskRead) -> bytes | Exception:
        try:
            return self._store.get(baby_key(read.stream_id, read.offset))
        except SegmentsError as error:
            return error

    def _take(self, read: TaskRead, body: bytes | Exception) -> None:
        """Route one baby; whatever goes wrong stops its stream here, for this cycle."""
        if read.stream_id in self._unreadable:
            return
        try:
            if isinstance(body, Exception):
                raise body
            self._bytes_read += len(body)
            baby = self._decoded_baby(read, body)
            for routed in self._router.route(read, baby, self._received_at(read, baby)):
                self._keep(routed)
        except SegmentsError as error:
            self._stop_stream(read, error)

    def _decoded_baby(self, read: TaskRead, body: bytes) -> Baby:
        """Decode a baby; what cannot be read is put aside whole and counts as empty."""
        try:
            return _decode_checked(read, body)
        except CorruptObject:
            # Damage on the way must not send acknowledged records to the quarantine.
            again = self._store.get(baby_key(read.stream_id, read.offset))
        try:
            return _decode_checked(read, again)
        except CorruptObject as error:
            if read.is_owner:
                cause = f"corrupt_baby: {error}"
                quarantine.put_whole(self._store, read.stream_id, read.offset, again, cause)
                self._quarantined["corrupt_baby"] += 1
            return Baby(is_stamped=False)

    def _received_at(self, read: TaskRead, baby: Baby) -> int:
        if baby.received_at or not baby.parts:
            return baby.received_at
        return self._store.head(baby_key(read.stream_id, read.offset)).modified_at_nanos

    def _keep(self, routed: Routed) -> None:
        payload = routed.payload
        if routed.work is None:
            self._put_aside(payload, routed.cause, routed.cause)
            return
        try:
            bodies = cut(payload.signal, payload.body, is_validated=payload.is_validated)
        except UndecodableSlice as error:
            self._reject(Undecodable(routed.work, payload, str(error)))
            return
        for body in bodies:
            piece = payload
            if len(body) < len(payload.body):
                weight = max(len(body), RECORDS_MAX * ROW_BYTES)
                piece = replace(payload, body=body, weight=weight)
            self._pend(routed.work, piece)

    def _pend(self, work: int, payload: Payload) -> None:
        # Before, not after: what is written now has more of its baby to come.
        self._keep_within_budget((payload.stream_id, payload.offset))
        self._pending.setdefault(payload.signal, []).append((work, payload))
        self._pending_bytes += payload.weight

    def _keep_within_budget(self, begun: tuple[str, int] | None = None) -> None:
        if self._pending_bytes >= self._budget.decode_bytes_max:
            self._decode()
        if self._held_bytes >= self._budget.held_bytes_max:
            self._write(begun)

    def _put_aside(self, payload: Payload, cause: str, note: str) -> None:
        quarantine.put_slice(
            self._store,
            payload.stream_id,
            payload.offset,
            payload.token_id,
            payload.signal,
            payload.slice_index,
            payload.body,
            note,
        )
        self._quarantined[cause] += 1

    def _stop_stream(self, read: TaskRead, error: Exception) -> None:
        """No dataset may pass this baby: all works that read the stream fail."""
        message = f"{type(error).__name__}: {error}"
        self._unreadable[read.stream_id] = UnreadableBaby(read.stream_id, read.offset, message)
        for index, work in enumerate(self._task.works):
            if any(span.stream_id == read.stream_id for span in work.ranges):
                self._fail(index, message)

    def _fail(self, work: int, message: str) -> None:
        self._errors.setdefault(work, message)
        if columns := self._columns.pop(work, None):
            self._held_bytes -= columns.size_bytes

    def _decode(self) -> None:
        pending, self._pending, self._pending_bytes = self._pending, {}, 0
        specs = [work.spec for work in self._task.works]
        for signal in SIGNALS:
            payloads = [p for p in pending.get(signal, ()) if p[0] not in self._errors]
            if not payloads:
                continue
            try:
                pieces, failed = decode_together(signal, payloads, specs)
            except Exception as error:
                # A bug or a lack of memory; the works fail, and with them nothing else.
                for work in {work for work, _ in payloads}:
                    self._fail(work, f"{type(error).__name__}: {error}")
                continue
            for piece in pieces:
                self._held_bytes += self._columns_of(piece.work).add(signal, piece.rows)
                self._unconverted[piece.work] += piece.unconverted
            for work, payload in payloads:
                self._columns_of(work).note(payload)
            for one in failed:
                self._reject(one)

    def _columns_of(self, work: int) -> DatasetColumns:
        return self._columns.setdefault(work, DatasetColumns())

    def _reject(self, failed: Undecodable) -> None:
        try:
            self._put_aside(failed.payload, "undecodable", f"undecodable: {failed.error}")
        except SegmentsError as error:
            self._fail(failed.work, f"{type(error).__name__}: {error}")

    def _write(self, begun: tuple[str, int] | None = None) -> None:
        """Write what is held; `begun` is a baby of which there is more to come."""
        held = self._columns
        self._columns = {i: own for i, own in held.items() if begun in own.ranges}
        done = {i: own for i, own in held.items() if i not in self._columns}
        fronts = {i: front for i, own in self._columns.items() if (front := own.take_front())}
        self._held_bytes = sum(own.size_bytes for own in self._columns.values())
        for columns, is_baby_done in ((done, True), (fronts, False)):
            wanted = {i: own for i, own in columns.items() if own.tables and i not in self._errors}
            for index, error in self._writing.write(wanted, is_baby_done=is_baby_done):
                self._fail(index, f"{type(error).__name__}: {error}")


def _decode_checked(read: TaskRead, body: bytes) -> Baby:
    baby = decode_baby(body)
    if read.dataset_ids and not baby.is_stamped:
        raise CorruptObject("the commit announced stamps, the baby segment has none")
    return baby
