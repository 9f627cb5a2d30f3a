"""The nursery's cycle: poll, plan, merge, register, reap, retire. Alone talks to meta."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import structlog

from meta import metrics
from meta.client import MetaClient, location
from meta.errors import MetaError, VersionExpired
from meta.process import Shutdown
from meta.telemetry import span
from meta.v1 import common_pb2, nursery_pb2
from nursery import dead_streams, reaper
from nursery.config import Settings
from nursery.job import JobFailed
from nursery.planner import Batch, DatasetMove, Limits, Plan, plan
from nursery.registration import register
from nursery.results import TaskResult, UnreadableBaby, WrittenSegment
from nursery.snapshot import Snapshot, StreamInfo, read_snapshot
from nursery.tasks import Task
from segments.errors import StoreError
from segments.location import StoreLocation
from segments.store.interface import ObjectStore
from segments.store.open import open_store

log = structlog.get_logger()

# Runs tasks over the objects of one location, all of them at once.
RunTasks = Callable[[Sequence[Task], StoreLocation], list[TaskResult]]
REGISTRATIONS_AT_ONCE = 8
# How long a stream waits after a baby that could not be read; another nursery may have reaped it.
BLOCKED_SECS = 10.0
# How long after a baby that alone makes a job fail.
POISON_SECS = 300.0


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, so that tests can turn it."""

    now_nanos: Callable[[], int] = time.time_ns
    monotonic: Callable[[], float] = time.monotonic


class Nursery:
    """One nursery's state between cycles; everything else is meta's."""

    def __init__(
        self,
        client: MetaClient,
        settings: Settings,
        run_tasks: RunTasks,
        tasks_max: int,
        clock: Clock | None = None,
        shutdown: Shutdown | None = None,
    ) -> None:
        self._client = client
        self._settings = settings
        self._run_tasks = run_tasks
        self._tasks_max = tasks_max
        self._clock = clock or Clock()
        self._shutdown = shutdown or Shutdown()
        self._seen_seq = 0
        self._location: StoreLocation | None = None
        # Halved by every failed job, down to one, and doubled by every good one.
        self._babies_max = settings.batch_babies_max
        self._blocked: dict[str, tuple[int, float]] = {}
        self._tended_at = float("-inf")

    def cycle(self) -> bool:
        """Run one cycle; true if there is more to merge already.

        Raises MetaError if meta is away, StoreError if the store is, SparkDied.
        """
        with span("nursery.cycle"):
            # Every stream is looked at now and then; between, those with something to merge.
            is_tending = self._is_tending_due()
            snapshot = self._poll(0 if is_tending else self._seen_seq)
            if snapshot is None or snapshot.bucket is None:
                return False
            store = self._open_store(snapshot.bucket)
            wanted = self._plan(snapshot)
            is_more = self._merge(wanted, snapshot.bucket)
            if is_tending:
                self._tend(snapshot, store)
            return is_more

    def _is_tending_due(self) -> bool:
        return self._clock.monotonic() - self._tended_at >= self._settings.reap_interval_secs

    def _poll(self, since_seq: int) -> Snapshot | None:
        request = nursery_pb2.GetIngestStreamsRequest(
            since_seq=since_seq,
            shard_index=self._settings.shard_index,
            shard_count=self._settings.shard_count,
        )
        try:
            reply = self._client.nursery.GetIngestStreamsForNursery(request)
        except VersionExpired:
            # Meta forgot what it removed since; a whole poll needs no history.
            self._tended_at = float("-inf")
            return None
        if reply.response_seq < self._seen_seq:
            # An instance of meta that lags behind what another one has shown us.
            log.info("stale_snapshot", response_seq=reply.response_seq, seen=self._seen_seq)
            return None
        self._seen_seq = reply.response_seq
        snapshot = read_snapshot(reply)
        metrics.NURSERY_BACKLOG_BABIES.set(sum(_backlog(info) for info in snapshot.streams))
        metrics.NURSERY_LAG_SECONDS.set(_lag_secs(snapshot, self._clock.now_nanos()))
        return snapshot

    def _open_store(self, bucket: common_pb2.CloudBucket) -> ObjectStore:
        found = self._settings.object_store or location(bucket)
        store = open_store(found)
        if found != self._location:
            store.probe()
            self._location = found
        return store

    def _plan(self, snapshot: Snapshot) -> Plan:
        settings = self._settings
        limits = Limits(
            bytes_max=settings.batch_bytes_max,
            babies_max=self._babies_max,
            tasks_max=self._tasks_max,
            wait_secs=settings.wait_secs,
            bytes_min=settings.batch_bytes_min,
            idle_advance_secs=settings.idle_advance_secs,
        )
        now = self._clock.monotonic()
        self._blocked = {s: (o, until) for s, (o, until) in self._blocked.items() if until > now}
        blocked = {stream_id: offset for stream_id, (offset, _) in self._blocked.items()}
        streams = [info.stream for info in snapshot.streams]
        return plan(streams, snapshot.specs, limits, self._clock.now_nanos(), blocked)

    def _merge(self, wanted: Plan, bucket: common_pb2.CloudBucket) -> bool:
        tasks = [task for batch in wanted.batches for task in batch.tasks]
        assert self._location is not None
        started = self._clock.monotonic()
        try:
            with span("nursery.job", tasks=len(tasks), babies=wanted.num_babies):
                results = self._run_tasks(tasks, self._location)
        except JobFailed as error:
            if self._shutdown.is_requested:
                # Cancelled, most likely. What its tasks wrote nobody knows: the janitor's orphans.
                log.info("job_given_up", error=str(error), babies=wanted.num_babies)
                return False
            self._plan_smaller(wanted, tasks, str(error))
            return False
        self._babies_max = min(self._settings.batch_babies_max, self._babies_max * 2)
        _observe("job", self._clock.monotonic() - started)
        self._note(results)
        blocked = {baby.stream_id for result in results for baby in result.unreadable}
        moves: list[tuple[DatasetMove, Sequence[WrittenSegment]]] = []
        for batch in wanted.batches:
            own, results = results[: len(batch.tasks)], results[len(batch.tasks) :]
            moves.extend(_finished(batch, own, blocked))
        advances = [(move, ()) for move in wanted.advances if not _touches(move, blocked)]
        self._register([*moves, *advances], bucket)
        return wanted.is_cut and not blocked

    def _plan_smaller(self, wanted: Plan, tasks: Sequence[Task], error: str) -> None:
        """A batch that kills its job is halved; the one baby that is left in the end waits."""
        self._babies_max = max(1, wanted.num_babies // 2)
        log.warning("job_failed", error=error, babies=wanted.num_babies)
        if wanted.num_babies == 1:
            read = tasks[0].reads[0]
            self._block(
                UnreadableBaby(read.stream_id, read.offset, error),
                self._clock.monotonic() + POISON_SECS,
            )

    def _note(self, results: Iterable[TaskResult]) -> None:
        """Count what was put aside, and remember the babies that nothing may pass for now."""
        until = self._clock.monotonic() + BLOCKED_SECS
        for result in results:
            for cause, count in result.quarantined:
                metrics.QUARANTINED_SLICES.labels(cause).inc(count)
                log.warning("slices_quarantined", cause=cause, count=count)
            for baby in result.unreadable:
                self._block(baby, until)
            for one in result.datasets:
                if one.error:
                    log.warning("dataset_failed", dataset_id=one.dataset_id, error=one.error)
                if one.unconverted:
                    log.info(
                        "attributes_unconverted", dataset_id=one.dataset_id, count=one.unconverted
                    )

    def _block(self, baby: UnreadableBaby, until: float) -> None:
        offset, _ = self._blocked.get(baby.stream_id, (baby.offset, 0.0))
        self._blocked[baby.stream_id] = (min(offset, baby.offset), until)
        log.warning(
            "baby_unreadable", stream_id=baby.stream_id, offset=baby.offset, error=baby.error
        )

    def _register(
        self,
        moves: Sequence[tuple[DatasetMove, Sequence[WrittenSegment]]],
        bucket: common_pb2.CloudBucket,
    ) -> None:
        if not moves:
            return
        started = self._clock.monotonic()
        # Calls that wait together share one database commit.
        with ThreadPoolExecutor(min(REGISTRATIONS_AT_ONCE, len(moves))) as pool:
            done = pool.map(lambda m: register(self._client, bucket, *m), moves)
            self._seen_seq = max([self._seen_seq, *(seq for seq in done if seq is not None)])
        _observe("register", self._clock.monotonic() - started)

    def _tend(self, snapshot: Snapshot, store: ObjectStore) -> None:
        """Reap, retire and stop dead streams; one stream's failure is its own."""
        started = self._clock.monotonic()
        self._tended_at = started
        for info in snapshot.streams:
            if self._shutdown.is_requested:
                return
            try:
                self._tend_one(info, snapshot, store)
            except (MetaError, StoreError) as error:
                log.warning("tending_failed", stream_id=info.stream_id, error=str(error))
        _observe("reap", self._clock.monotonic() - started)

    def _tend_one(self, info: StreamInfo, snapshot: Snapshot, store: ObjectStore) -> None:
        reaped = reaper.reap(self._client, store, info)
        if reaped:
            log.info("babies_reaped", stream_id=info.stream_id, count=reaped)
        reaper.retire(self._client, info, snapshot.routed_dataset_ids)
        timeout_nanos = int(self._settings.stream_timeout_secs * 1e9)
        silent_since = self._clock.now_nanos() - timeout_nanos
        if timeout_nanos and not info.is_stopped and info.last_activity < silent_since:
            dead_streams.stop_dead(self._client, store, info, silent_since)


def _finished(
    batch: Batch, results: Sequence[TaskResult], blocked: set[str]
) -> list[tuple[DatasetMove, Sequence[WrittenSegment]]]:
    """The moves whose every task succeeded, with the segments of all of them."""
    failed = {one.dataset_id for result in results for one in result.datasets if one.error}
    written: dict[str, list[WrittenSegment]] = {}
    for result in results:
        for one in result.datasets:
            written.setdefault(one.dataset_id, []).extend(one.segments)
    return [
        (move, written.get(move.dataset_id, ()))
        for move in batch.moves
        if move.dataset_id not in failed and not _touches(move, blocked)
    ]


def _touches(move: DatasetMove, stream_ids: set[str]) -> bool:
    return any(span.offsets.stream_id in stream_ids for span in move.spans)


def _backlog(info: StreamInfo) -> int:
    merged = info.stream.merged.values()
    return info.stream.committed_offset - min(merged) if merged else 0


def _lag_secs(snapshot: Snapshot, now_nanos: int) -> float:
    waits = (info.stream.oldest_wait() for info in snapshot.streams)
    oldest = min((wait for wait in waits if wait is not None), default=now_nanos)
    return max(0, now_nanos - oldest) / 1e9


def _observe(step: str, seconds: float) -> None:
    metrics.NURSERY_CYCLE_SECONDS.labels(step).observe(seconds)
