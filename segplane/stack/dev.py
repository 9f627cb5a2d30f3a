"""Single-machine stack: Postgres, meta, collector and workers as child processes.

They start in order of dependency and stop in reverse: the collector first, so that its buffered
exports are committed and its stream ends, Postgres last.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Self, TypeVar

from dataplane.location import Locator
from dataplane.processes.children import Child, ChildSpec
from dataplane.readiness import MetaReadiness, is_serving
from dataplane.task_runner import RUNNER_STARTED, describe_runner
from meta.client import MetaClient
from meta.errors import Unavailable
from segplane.stack import addresses, config, console, metrics_targets, preflight, self_telemetry
from segplane.stack.config import APART, PIPELINE, StackSettings
from segplane.stack.ingest_token import ready_token
from segplane.stack.postgres import LOCK_WAIT_SECS, EmbeddedPostgres
from segplane.stack.preflight import PortTaken
from segplane.stack.run_lock import RunLock
from segplane.stack.self_telemetry import TelemetryTarget

COLLECTOR = "collector"
GATEWAY = "gateway"
MERGING = (PIPELINE, *APART)
WORKERS = (*MERGING, "janitor")
PARTS = (COLLECTOR, GATEWAY, PIPELINE, "janitor")
_MODULES = {GATEWAY: "segplane.gateway", PIPELINE: "segplane.stack.pipeline"}
READY_POLL_SECS = 0.1
PROGRESS_EVERY_SECS = 10.0
META_STOP_SECS = 30.0
# Time for the processes of a killed run to end: longer than any of them drains.
PREDECESSOR_SECS_MAX = 60.0
Report = Callable[[str], None]
T = TypeVar("T")


class Interrupted(Exception):
    """A signal arrived during the start."""


class Stack:
    """A single-machine Segplane, running from enter to exit.

    `report` gets one line for each thing that happens; `is_interrupted` ends a start with
    Interrupted. `parts` run in addition to Postgres and meta. Enter it in a thread that outlives
    it.
    """

    def __init__(
        self,
        settings: StackSettings,
        report: Report,
        is_interrupted: Callable[[], bool] = lambda: False,
        parts: Sequence[str] = PARTS,
        telemetry: Mapping[str, str] | None = None,
    ) -> None:
        self.settings = replace(settings, data_dir=settings.data_dir.absolute())
        self.token = ""
        # The age at which the processes' own telemetry is deleted.
        self.telemetry_retention = timedelta()
        self._target: TelemetryTarget | None = None
        self._report = report
        self._is_interrupted = is_interrupted
        self._parts = tuple(parts)
        self._telemetry = dict(telemetry or {})
        self._postgres: EmbeddedPostgres | None = None
        self._children: dict[str, Child] = {}
        self._is_stopping = False
        self._run_lock = RunLock(self.settings.data_dir)
        self._was_killed = False
        # The process ids of children whose runner of tasks is reported.
        self._reported: set[int] = set()

    def __enter__(self) -> Self:
        """Start all processes and wait until they are ready; on failure stop those that run."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Stop everything, in order."""
        self.stop()

    @property
    def children(self) -> Mapping[str, Child]:
        """The processes by name."""
        return self._children

    @property
    def log_dir(self) -> Path:
        """Folder of the processes' logs."""
        return self.settings.data_dir / "logs"

    def connect(self) -> MetaClient:
        """Open a client of this meta."""
        settings = self.settings
        return MetaClient(
            settings.meta_address, auth_token=settings.meta_auth_token, tls=settings.meta_tls
        )

    def start_parts(self, *names: str) -> None:
        """Start processes in addition to meta, and wait until they are ready."""
        processes = config.processes_of(self.settings, names)
        for name in processes:
            self._launch(self._spec(name))
        self._await_ready(*processes)

    def check(self) -> None:
        """Restart dead processes; call it often. Raises ChildFailed if a restart is useless."""
        if self._postgres is not None and self._postgres.pid is None:
            self._report("postgres died, starting it again")
            self._postgres.start()
        for child in self._children.values():
            if event := child.check():
                self._report(event)
            if child.spec.name in MERGING:
                self._report_runner(child)

    def detach(self, name: str) -> Child:
        """Hand a child over to the caller, who stops it; it is no longer restarted."""
        return self._children.pop(name)

    def stop(self) -> None:
        """Stop from the top down; safe to call twice."""
        if self._children and not self._is_stopping:
            self._report("stopping (Ctrl-C again: stop at once; acknowledged records are kept)")
        self._is_stopping = True
        if self._run_lock.is_held:
            addresses.remove(self.settings.data_dir)
            metrics_targets.remove(self.settings.data_dir)
        for names in ((COLLECTOR, GATEWAY), WORKERS, ("meta",)):
            self._stop_children(names)
        if self._postgres is not None:
            self._postgres.stop()
            self._postgres = None
        self._run_lock.release()

    def _start(self) -> None:
        config.check_tls(self.settings)
        preflight.make_data_dir(self.settings.data_dir)
        self._was_killed = self._run_lock.take()
        self._claim_ports()
        preflight.make_private_dir(self.log_dir)
        if GATEWAY in self._parts:
            console.ready_key(self.settings.console_key_path)
        if not self.settings.object_store_url:
            # A store never creates its own root: a missing one may be an unmounted disk.
            preflight.make_private_dir(config.objects_dir(self.settings))
        if self.settings.has_self_telemetry:
            self._target = self_telemetry.kept(self.settings.telemetry_path)
        self._start_meta(self._database_url())
        if self.settings.has_self_telemetry:
            self._start_telemetry()
        self.start_parts(*self._parts)
        addresses.write(self.settings.data_dir, addresses.addresses_of(self.settings))
        metrics_targets.write(self.settings, tuple(self._children))

    def _start_telemetry(self) -> None:
        """Let all processes send telemetry; meta starts again if it did not know where to."""
        path, before = self.settings.telemetry_path, self._target
        ready = self._ask(lambda client: self_telemetry.ready(client, path))
        self._target, self.telemetry_retention = ready
        if self._target != before:
            meta = self._children["meta"].spec
            self._report("meta starts again, to send its telemetry")
            self._stop_children(("meta",))
            self._launch(meta)
            self._await_ready("meta")

    def _spec(self, name: str) -> ChildSpec:
        if name == COLLECTOR:
            self.token = self._ask(lambda client: ready_token(client, self.settings.token_path))
        environment = config.environment_of(self.settings, name)
        is_ready = self._collector_is_ready if name == COLLECTOR else _worker_is_ready
        return ChildSpec(name, _MODULES.get(name, name), environment, is_ready)

    def _ask(self, ask: Callable[[MetaClient], T]) -> T:
        """Ask meta, which is started again if it dies before it answers."""
        while True:
            self._end_if_interrupted()
            try:
                with self.connect() as client:
                    return ask(client)
            except Unavailable:
                self.check()
                time.sleep(READY_POLL_SECS)

    def _claim_ports(self) -> None:
        ports = self._free_ports(config.ports_of(self.settings, self._parts))
        self.settings = config.with_ports(self.settings, ports)

    def _free_ports(self, ports: Mapping[str, int]) -> dict[str, int]:
        """Claim ports; the processes of a killed run may need a while to give them back."""
        hosts = {"--meta-port": self.settings.meta_host}
        deadline = time.monotonic() + PREDECESSOR_SECS_MAX
        is_reported = False
        while True:
            self._end_if_interrupted()
            try:
                return preflight.claim_ports(ports, hosts)
            except PortTaken:
                if not self._was_killed or time.monotonic() > deadline:
                    raise
            if not is_reported:
                is_reported = True
                self._report("waiting for the processes of a killed run to end")
            time.sleep(READY_POLL_SECS)

    def _database_url(self) -> str:
        if self.settings.database_url:
            return self.settings.database_url
        started = time.monotonic()
        self._postgres = EmbeddedPostgres(
            self.settings.data_dir / "postgres",
            log=self._progress,
            lock_wait_secs=PREDECESSOR_SECS_MAX if self._was_killed else LOCK_WAIT_SECS,
        )
        self._postgres.start()
        self._report(f"postgres ready, {time.monotonic() - started:.1f} s")
        return self._postgres.url

    def _start_meta(self, database_url: str) -> None:
        environment = config.meta_environment(self.settings, database_url)
        self._launch(ChildSpec("meta", "meta", environment, self._meta_is_ready, META_STOP_SECS))
        self._await_ready("meta")

    def _launch(self, spec: ChildSpec) -> None:
        settings, environment = self.settings, {**spec.environment, **self._telemetry}
        if self._target is not None:
            environment |= self._target.environment(settings.otlp_http_url, settings.inherited)
        spec = replace(spec, environment=environment)
        child = Child(spec, self.log_dir / f"{spec.name}.log")
        self._children[spec.name] = child
        child.start()

    def _await_ready(self, *names: str) -> None:
        """Wait without a deadline until each is ready; a crash loop ends the wait."""
        started = reported = time.monotonic()
        waiting = set(names)
        while waiting:
            self._end_if_interrupted()
            self.check()
            for name in sorted(waiting):
                child = self._children[name]
                if child.pid is not None and child.spec.is_ready(child):
                    waiting.remove(name)
                    self._report(f"{name} ready, {time.monotonic() - started:.1f} s")
            if waiting and time.monotonic() - reported > PROGRESS_EVERY_SECS:
                reported = time.monotonic()
                self._report(f"waiting for {' and '.join(sorted(waiting))}")
            if waiting:
                time.sleep(READY_POLL_SECS)

    def _report_runner(self, child: Child) -> None:
        """Report once what runs the tasks of a process: Spark's application, or no Spark."""
        pid = child.pid
        if pid is None or pid in self._reported:
            return
        if started := child.logged_fields(RUNNER_STARTED):
            self._reported.add(pid)
            self._report(f"{child.spec.name}: {describe_runner(started)}")

    def _progress(self, line: str) -> None:
        self._report(line)
        self._end_if_interrupted()

    def _end_if_interrupted(self) -> None:
        if self._is_interrupted():
            raise Interrupted

    def _stop_children(self, names: tuple[str, ...]) -> None:
        children = [self._children.pop(name) for name in names if name in self._children]
        started = time.monotonic()
        for child in children:
            child.stop()
        for child in children:
            if not child.wait_stopped(started + child.spec.stop_secs):
                self._report(f"{child.spec.name} did not stop in {child.spec.stop_secs:.0f} s")

    def _meta_is_ready(self, _: Child) -> bool:
        with self.connect() as client:
            return MetaReadiness(client, Locator(client, "dev")).check()

    def _collector_is_ready(self, _: Child) -> bool:
        return is_serving(self.settings.otlp_grpc_address)


def _worker_is_ready(child: Child) -> bool:
    return child.has_logged(f"{child.spec.name}_started")
