"""The nursery's cycle: poll, plan, merge, register, reap, retire."""

from collections.abc import Callable, Iterable, Sequence

import structlog

from dataplane.clocks import Clock, DatabaseClock
from dataplane.deletion_permit import DeletionPermit
from dataplane.location import Locator
from dataplane.stream_poll import Shards, read_unmerged
from dataplane.worker_names import process_name
from meta.client import MetaClient
from meta.errors import VersionExpired
from meta.metrics import CLOCK_SKEW
from meta.process.shutdown import Shutdown
from meta.self_report import Progress
from meta.telemetry import about, span
from nursery import metrics
from nursery.config import Settings
from nursery.execution.job import TaskOutcome
from nursery.lifecycle.parked import FAILED_JOB_SECS, ParkedStreams
from nursery.lifecycle.shards import LeasedShards, ShardSource
from nursery.lifecycle.tending import StreamTender
from nursery.planning.pending import Limits
from nursery.planning.planner import Plan, plan
from nursery.planning.snapshot import StreamSnapshot, read_snapshot
from nursery.planning.tasks import Task
from nursery.registration.deduplication import EventRegistrations
from nursery.registration.move_tracker import FinishedMove, MoveTracker
from nursery.registration.registration import Registered, Registrations, beyond_limits
from nursery.registration.waiting import WaitingDatasets
from nursery.results import TaskResult, UnreadableBaby
from segments.errors import TaskFailed
from segments.location import Stores
from segments.store.interface import ObjectStore
from segments.store.open import open_stores

log = structlog.get_logger()

# Runs tasks over the objects of some stores, in parallel; yields each outcome with its index.
RunTasks = Callable[[Sequence[Task], Stores], Iterable[TaskOutcome]]
# Parts of the work that may fail.
MERGING, TENDING = "merging", "tending streams"


class Nursery:
    """One nursery's state between cycles; all durable state is meta's."""

    def __init__(
        self,
        client: MetaClient,
        settings: Settings,
        run_tasks: RunTasks,
        tasks_max: int,
        *,
        clock: Clock | None = None,
        shutdown: Shutdown | None = None,
        shards: ShardSource | None = None,
    ) -> None:
        self._client = client
        self._settings = settings
        self._run_tasks = run_tasks
        self._tasks_max = tasks_max
        self._clock = clock or Clock()
        self._database_clock = DatabaseClock(self._clock)
        self._shutdown = shutdown or Shutdown()
        self._seen_seq = 0
        self.progress = Progress()
        self._waiting = WaitingDatasets(self._clock.monotonic, self.progress)
        registrations = Registrations(client)
        self._registrations = EventRegistrations(registrations, lambda: self.locator.stores)
        name, monotonic = process_name(), self._clock.monotonic
        self.locator = Locator(client, f"nursery/{name}", settings.object_store, monotonic)
        self._probed: Stores | None = None
        # Halved by each failed job, down to one, and doubled by each successful one.
        self._babies_max = settings.batch_babies_max
        self._parked = ParkedStreams(client, monotonic)
        self._permit = DeletionPermit(client)
        self._tender = StreamTender(
            client, self._parked, self._permit, self._shutdown, settings.stream_timeout_secs
        )
        self._tended_at = float("-inf")
        # Whether the last poll named nothing to merge.
        self.is_idle = False
        # Whether the cycle merged all that its poll named, and nothing because of its size.
        self.is_whole = False
        # Work of the last cycle; "" = it did none.
        self.done = ""
        self._num_registered, self._failure = 0, ""
        self._shard_source = shards or LeasedShards(client, name, monotonic)
        self._shards: Shards | None = None

    @property
    def settings(self) -> Settings:
        """The settings in force: those that operators keep in meta, else the environment's."""
        return self._settings.with_given(self.locator.worker_settings)

    def close(self) -> None:
        """Leave the streams to other nurseries."""
        self._shard_source.release()

    def cycle(self) -> bool:
        """Run one cycle; true if more work is due already.

        Raises MetaError or StoreError if meta or the store is unavailable, RunnerDied.
        """
        with span("nursery.cycle"):
            self.is_whole, self.done = False, ""
            self.locator.refresh()
            self._acquire_shards()
            # All streams are polled from time to time; in between, those that changed.
            tended_secs = self._clock.monotonic() - self._tended_at
            is_tending = tended_secs >= self._settings.reap_interval_secs
            if is_tending:
                self._permit.begin()
            snapshot = self._poll(0 if is_tending else self._seen_seq)
            self.is_idle = snapshot is not None and not snapshot.backlog
            if snapshot is None:
                return False
            if self.is_idle:
                self.progress.recovered(MERGING)
            if not snapshot.streams:
                self._tended_at = self._clock.monotonic() if is_tending else self._tended_at
                return False
            store = self._open_store()
            self._parked.retry(store)
            is_more = self._merge(self._plan(snapshot))
            if is_tending:
                self._tend(snapshot, store)
            return is_more

    def _acquire_shards(self) -> None:
        shards = self._shard_source.acquire()
        if shards != self._shards:
            # Changes from before these shards were ours are not in a poll of changes.
            self._tended_at = float("-inf")
        self._shards = shards

    def _poll(self, since_seq: int) -> StreamSnapshot | None:
        assert self._shards is not None
        if not self._shards.indexes:
            # Others merge, and report what fails.
            self.done = "polled nothing: others have all shards"
            self.progress.recovered(MERGING)
            self._waiting.unknown_layouts = {}
            self._waiting.note()
            return None
        sent_at = self._clock.monotonic()
        # Should the layout of one of them come with the reply, it is merged after the next poll.
        withheld = self._waiting.withheld()
        try:
            reply = read_unmerged(self._client, since_seq, withheld, self._shards)
        except VersionExpired:
            # Meta no longer knows the removals since then; a full poll needs no history.
            self._tended_at = float("-inf")
            return None
        if reply.response_seq < self._seen_seq:
            # This instance of meta lags behind the one polled before.
            log.info("stale_snapshot", response_seq=reply.response_seq, seen=self._seen_seq)
            return None
        self._seen_seq = reply.response_seq
        self.done = "polled, nothing merged"
        self._database_clock.observe(reply.database_time_nanos, sent_at)
        CLOCK_SKEW["nursery"].set(self._database_clock.skew_secs())
        snapshot = read_snapshot(reply, withheld)
        self._parked.forget_passed(
            (info.stream for info in snapshot.streams), is_complete=since_seq == 0
        )
        self._waiting.unknown_layouts = snapshot.waiting
        self._waiting.note()
        metrics.NURSERY_BACKLOG_BABIES.set(snapshot.backlog)
        metrics.NURSERY_LAG_SECONDS.set(snapshot.lag_secs(self._database_clock.now_nanos()))
        return snapshot

    def _open_store(self) -> ObjectStore:
        stores = self.locator.stores
        store = open_stores(stores)
        if stores != self._probed:
            store.probe()
            self._probed = stores
        return store

    def _plan(self, snapshot: StreamSnapshot) -> Plan:
        settings = self.settings
        limits = Limits(
            bytes_max=settings.batch_bytes_max,
            babies_max=min(self._babies_max, settings.batch_babies_max),
            tasks_max=self._tasks_max,
            wait_secs=settings.wait_secs,
            bytes_min=settings.batch_bytes_min,
            records_min=settings.batch_records_min,
            idle_advance_secs=settings.idle_advance_secs,
            patience=snapshot.patience,
        )
        streams, now_nanos = [s.stream for s in snapshot.streams], self._database_clock.now_nanos()
        return plan(streams, snapshot.specs, limits, now_nanos, self._parked.offsets())

    def _merge(self, cycle_plan: Plan) -> bool:
        """Run the plan's tasks; each dataset is registered once its own tasks have succeeded."""
        started, registering_secs = self._clock.monotonic(), 0.0
        self._num_registered, self._failure = 0, ""
        tracker, errors, is_parked = MoveTracker(cycle_plan), list[str](), False
        registering_secs += self._register(tracker.take_ready(), errors)
        tasks, babies, datasets = cycle_plan.tasks, cycle_plan.num_babies, cycle_plan.dataset_ids
        with about(datasets), span("nursery.execution.job", tasks=len(tasks), babies=babies):
            for index, outcome in self._run_tasks(tasks, self.locator.stores):
                if isinstance(outcome, TaskFailed):
                    tracker.fail(index)
                    errors.append(str(outcome))
                    continue
                self._note(outcome)
                is_parked = is_parked or bool(outcome.unreadable)
                tracker.add(index, outcome)
                registering_secs += self._register(tracker.take_ready(), errors)
        _observe("job", self._clock.monotonic() - started - registering_secs)
        _observe("register", registering_secs)
        self._adapt(cycle_plan, errors)
        if self._num_registered:
            self.done = "merged"
        # A failure lasts until a cycle registers something without one.
        if (failure := next(iter(errors), self._failure)) or self._num_registered:
            self._report(failure, MERGING)
        self.is_whole = cycle_plan.is_whole and self._num_registered == len(cycle_plan.moves)
        # The datasets of a parked stream failed in all its streams: the others are merged at once.
        return (cycle_plan.is_cut or is_parked) and not errors

    def _adapt(self, cycle_plan: Plan, errors: Sequence[str]) -> None:
        """Halve the batch after a failed job, double it after a cycle without one."""
        if not errors:
            self._babies_max = min(self.settings.batch_babies_max, self._babies_max * 2)
        elif self._shutdown.is_requested:
            # The job was most likely cancelled. Files of its tasks are orphans for the janitor.
            log.info("job_given_up", error=errors[0], babies=cycle_plan.num_babies)
        else:
            self._babies_max = max(1, cycle_plan.num_babies // 2)
            log.warning("job_failed", error=errors[0], babies=cycle_plan.num_babies)
            if cycle_plan.num_babies == 1:
                read = cycle_plan.tasks[0].reads[0]
                baby = UnreadableBaby(read.stream_id, read.offset, errors[0])
                self._parked.park(baby, FAILED_JOB_SECS)

    def _note(self, result: TaskResult) -> None:
        """Count quarantined payloads, and park streams at unreadable babies."""
        for cause, count in result.quarantined_payloads:
            metrics.QUARANTINED_SLICES.labels(cause).inc(count)
            log.warning("slices_quarantined", cause=cause, count=count)
        for baby in result.unreadable:
            self._parked.park(baby)
        metrics.NURSERY_BYTES_READ.inc(result.bytes_read)
        for dataset in result.datasets:
            dataset_log = log.bind(dataset_id=dataset.dataset_id)
            if dataset.error:
                dataset_log.warning("dataset_failed", error=dataset.error)
                self._failure = self._failure or dataset.error
            if dataset.unconverted:
                dataset_log.info("attributes_unconverted", **dataset.unconverted_values())

    def _register(self, finished: Sequence[FinishedMove], errors: list[str]) -> float:
        """Register moves; returns the seconds it took.

        More than a registration takes is an error: the next cycle reads half the babies.
        """
        errors.extend(message for move in finished if (message := beyond_limits(move)))
        finished = [move for move in finished if not beyond_limits(move)]
        if not finished:
            return 0.0
        started = self._clock.monotonic()
        done = self._registrations.register(self.locator.known.bucket_of, finished)
        for move, registered in zip(finished, done, strict=True):
            self._note_registered(move.move.dataset_id, registered)
        self._waiting.note()
        return self._clock.monotonic() - started

    def _note_registered(self, dataset_id: str, registered: Registered) -> None:
        if registered.excess:
            self._waiting.refused.refuse(dataset_id, registered.excess)
        elif registered.response_seq is not None:
            self._num_registered += 1
            self._waiting.refused.accept(dataset_id)
            self._seen_seq = max(self._seen_seq, registered.response_seq)
        self._failure = self._failure or registered.failure

    def _tend(self, snapshot: StreamSnapshot, store: ObjectStore) -> None:
        started = self._tended_at = self._clock.monotonic()
        now_nanos = self._database_clock.now_nanos()
        self._report(self._tender.tend(snapshot.streams, store, now_nanos), TENDING)
        _observe("reap", self._clock.monotonic() - started)

    def _report(self, failure: str, part: str) -> None:
        """Report why a part of the work has failed, "" if it has not."""
        if failure:
            self.progress.failed(failure, part)
        else:
            self.progress.recovered(part)


def _observe(step: str, seconds: float) -> None:
    metrics.NURSERY_CYCLE_SECONDS.labels(step).observe(seconds)
